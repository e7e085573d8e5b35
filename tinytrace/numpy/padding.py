"""`pad`: more elements around an array, in each of NumPy's modes."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.dtypes import is_integer
from tinytrace.core.trees import tree_map
from tinytrace.numpy.array_creation import asarray, empty_like
from tinytrace.numpy.functional import apply_along_axis
from tinytrace.numpy.promotion import ArrayLike, Value, broadcast_to, check_arraylike, concrete
from tinytrace.numpy.quantiles import median
from tinytrace.numpy.ranges import linspace
from tinytrace.numpy.rearranging import flip, repeat
from tinytrace.numpy.reductions import amax, amin
from tinytrace.numpy.rounding import round
from tinytrace.numpy.statistics import mean

Pairs: TypeAlias = "Sequence[tuple[int, int]]"

_KEYWORDS: dict[str, list[str]] = {
    "empty": [], "edge": [], "wrap": [], "constant": ["constant_values"], "linear_ramp": ["end_values"],
    "maximum": ["stat_length"], "mean": ["stat_length"], "median": ["stat_length"], "minimum": ["stat_length"],
    "reflect": ["reflect_type"], "symmetric": ["reflect_type"],
}


@remembered("pad_width", "mode")
def pad(array: ArrayLike, pad_width: Any, mode: str | Callable[..., Any] = "constant", **kwargs: Any) -> Value:
    """Put `pad_width` elements around `array`: (before, after) per axis, or one pair or one number for all axes.

    mode: constant (with constant_values), edge, linear_ramp (end_values), maximum, mean, median, minimum
    (stat_length), reflect, symmetric (reflect_type), wrap, empty; or a function as in NumPy.

    >>> jnp.pad(jnp.array([1, 2]), 1, constant_values=7)
    Array([7, 1, 2, 7], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.pad.html.
    """
    check_arraylike("pad", array)
    widths = _to_pairs(pad_width, np.ndim(array), "pad_width")
    if not all(isinstance(n, (int, np.integer)) for pair in widths for n in pair):
        raise TypeError("`pad_width` must be of integral type.")
    if callable(mode):
        return _pad_with(asarray(array), widths, mode, kwargs)
    if mode not in _KEYWORDS:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    unknown = set(kwargs) - set(_KEYWORDS[mode])
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    return _pad(array, widths, mode, kwargs.get("constant_values", 0), kwargs.get("stat_length"),
                kwargs.get("end_values", 0), kwargs.get("reflect_type", "even"))


def _to_pairs(values: Any, ndim: int, name: str) -> tuple[tuple[Any, Any], ...]:
    """Return one pair per axis of a number, a pair, or a pair per axis."""
    values = tree_map(lambda x: concrete(x, f"{name} argument of jnp.pad"), values)
    try:
        pairs = np.asarray(values)
    except ValueError as error:
        raise TypeError(f"`{name}` entries must be the same shape: {values}") from error
    if pairs.shape not in ((ndim, 2), (1, 2), (2,), (1,), ()):
        raise ValueError(f"jnp.pad: {name} with nd={ndim} has unsupported shape {pairs.shape}. Valid shapes are "
                         f"({ndim}, 2), (1, 2), (2,), (1,), or ().")
    return tuple((before, after) for before, after in _as_given(np.broadcast_to(pairs, (ndim, 2))))


def _as_given(pairs: np.ndarray[Any, Any]) -> Any:
    """Integers as Python's, which are lengths; other numbers keep their type, which a dtype may depend on."""
    return pairs.tolist() if pairs.dtype.kind in "iu" else pairs


@library_jit("pad_width", "mode", "stat_length", "end_values", "reflect_type")
def _pad(array: ArrayLike, pad_width: Any, mode: str, constant_values: ArrayLike, stat_length: Any, end_values: Any,
         reflect_type: str) -> Value:
    array = asarray(array)
    ndim = array.ndim
    if ndim == 0:
        return array
    if any(n < 0 for pair in pad_width for n in pair):
        raise ValueError("index can't contain negative values")
    if mode == "constant":
        return _pad_constant(array, pad_width, asarray(constant_values))
    if mode == "linear_ramp":
        return _pad_linear_ramp(array, pad_width, _to_pairs(end_values, ndim, "end_values"))
    if mode in ("symmetric", "reflect"):
        return _pad_reflected(array, pad_width, mode, reflect_type)
    if mode in _STATISTICS:
        lengths = None if stat_length is None else _to_pairs(stat_length, ndim, "stat_length")
        return _pad_statistic(array, pad_width, lengths, _STATISTICS[mode])
    return {"wrap": _pad_wrap, "edge": _pad_edge, "empty": _pad_empty}[mode](array, pad_width)


_STATISTICS: dict[str, Callable[..., Value]] = {"maximum": amax, "minimum": amin, "mean": mean, "median": median}


def _pad_constant(array: Value, widths: Pairs, values: Value) -> Value:
    ndim = array.ndim
    values = lax.convert_element_type(broadcast_to(values, (ndim, 2)), array.dtype, array.weak_type)
    for axis, (before, after) in enumerate(widths):
        for side, config in ((0, (before, 0, 0)), (1, (0, after, 0))):
            array = lax.pad(array, values[axis, side], [config if i == axis else (0, 0, 0) for i in range(ndim)])
    return array


def _pad_wrap(array: Value, widths: Pairs) -> Value:
    for axis, (before, after) in enumerate(widths):
        size = array.shape[axis]
        if size == 0:
            _check_no_padding((before, after), "wrap")
            continue
        (left, left_rest), (right, right_rest) = divmod(before, size), divmod(after, size)
        parts = [array] * (left + right + 1)
        if left_rest:
            parts.insert(0, lax.slice_in_dim(array, size - left_rest, size, axis=axis))
        if right_rest:
            parts.append(lax.slice_in_dim(array, 0, right_rest, axis=axis))
        array = lax.concatenate(parts, axis)
    return array


def _pad_edge(array: Value, widths: Pairs) -> Value:
    for axis, (before, after) in enumerate(widths):
        size = array.shape[axis]
        if size == 0:
            _check_no_padding((before, after), "edge")
            continue
        left = repeat(lax.slice_in_dim(array, 0, 1, axis=axis), before, axis=axis)
        right = repeat(lax.slice_in_dim(array, size - 1, size, axis=axis), after, axis=axis)
        array = lax.concatenate([left, array, right], axis)
    return array


def _pad_empty(array: Value, widths: Pairs) -> Value:
    for axis, pair in enumerate(widths):
        left, right = [empty_like(array, shape=(*array.shape[:axis], n, *array.shape[axis + 1:])) for n in pair]
        array = lax.concatenate([left, array, right], axis)
    return array


def _check_no_padding(widths: tuple[int, int], mode: str) -> None:
    if widths[0] > 0 or widths[1] > 0:
        raise ValueError(f"Cannot apply '{mode}' padding to empty axis")


# --- mirrors, ramps, statistics --------------------------------------------------------------------------------

def _pad_reflected(array: Value, widths: Pairs, mode: str, reflect_type: str) -> Value:
    """Mirror the array at its edges (reflect: the edge itself is not repeated), as often as it takes."""
    for axis, (before, after) in enumerate(widths):
        size = array.shape[axis]
        if size == 0:
            _check_no_padding((before, after), mode)
            continue
        offset = 1 if mode == "reflect" and size > 1 else 0
        array = _mirror(array, axis, before, size - offset, offset, True, reflect_type)
        array = _mirror(array, axis, after, size - offset, offset, False, reflect_type)
    return array


def _mirror(array: Value, axis: int, padding: int, most: int, offset: int, before: bool, reflect_type: str) -> Value:
    """Add `padding` mirrored elements at one side of `axis`, at most `most` at a time, leaving out `offset`."""

    def outermost(x: Value) -> Value:
        return lax.slice_in_dim(x, 0, 1, axis=axis) if before else lax.slice_in_dim(x, -1, None, axis=axis)

    edge = outermost(array)
    while padding > 0:
        n = min(padding, most)
        padding -= n
        start, stop = (offset, offset + n) if before else (-(n + offset), -1 if offset else None)
        part = flip(lax.slice_in_dim(array, start, stop, axis=axis), axis=axis)
        if reflect_type == "odd":
            part = 2 * edge - part
            if most + offset > 1:
                edge = outermost(part)
        array = lax.concatenate([part, array] if before else [array, part], axis)
    return array


def _pad_linear_ramp(array: Value, widths: Pairs, end_values: Sequence[tuple[Any, Any]]) -> Value:
    for axis, (before, after) in enumerate(widths):
        first = lax.slice_in_dim(array, 0, 1, axis=axis)
        last = lax.slice_in_dim(array, -1, None, axis=axis)
        left = _ramp(end_values[axis][0], first, before, axis, array)
        right = _ramp(end_values[axis][1], last, after, axis, array)
        array = lax.concatenate([left, array, flip(right, axis)], axis)
    return array


def _ramp(start: Any, edge: Value, num: int, axis: int, array: Value) -> Value:
    ramp = linspace(start, edge.squeeze(axis), num, endpoint=False, dtype=array.dtype, axis=axis)
    return lax.convert_element_type(ramp, ramp.dtype, array.weak_type)


def _pad_statistic(array: Value, widths: Pairs, lengths: Pairs | None, statistic: Callable[..., Value]) -> Value:
    for axis, (before, after) in enumerate(widths):
        if lengths is None:
            left = right = statistic(array, axis=axis, keepdims=True)
        else:
            near_left, near_right = [min(n, array.shape[axis]) for n in lengths[axis]]
            if near_left == 0 or near_right == 0:
                raise ValueError("stat_length of 0 yields no value for padding")
            first = lax.slice_in_dim(array, 0, near_left, axis=axis)
            last = lax.slice_in_dim(array, -near_right, None, axis=axis)
            left, right = statistic(first, axis=axis, keepdims=True), statistic(last, axis=axis, keepdims=True)
        if is_integer(array.dtype):
            left, right = round(left), round(right)
        left = lax.convert_element_type(left, array.dtype, array.weak_type)
        right = lax.convert_element_type(right, array.dtype, array.weak_type)
        array = lax.concatenate([repeat(left, before, axis=axis), array, repeat(right, after, axis=axis)], axis)
    return array


def _pad_with(array: Value, widths: Any, function: Callable[..., Any], kwargs: dict[str, Any]) -> Value:
    padded = _pad_constant(array, widths, asarray(0))
    for axis in range(padded.ndim):
        padded = apply_along_axis(function, axis, padded, widths[axis], axis, kwargs)
    return padded

