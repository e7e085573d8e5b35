"""Sums, products, extremes and truth over axes.

All of them follow one course: convert to the dtype of the computation, mask, reduce, start from `initial`, keep
dimensions, convert to the dtype of the result.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import inline_jit
from tinytrace.core.dtypes import BOOL, DType, is_float, is_inexact, is_integer
from tinytrace.core.storage_types import infinity, integer_limits
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Axis,
    DTypeLike,
    Value,
    as_array,
    canonicalize_axes,
    check_arraylike,
    concrete,
    convert,
    int_dtype,
    promote_dtypes_numeric,
    upcast_float16,
    user_dtype,
)
from tinytrace.primitives import reduction
from tinytrace.primitives.broadcasting import reduce_sum
from tinytrace.records import NamedTuple

_all = all


class Reduction(NamedTuple):
    """One reduction: how two elements combine, what the empty one is, and which types it wants."""

    name: str
    reduce: Callable[..., Value]
    combine: Callable[[Any, Any], Any]
    start: float
    has_identity: bool = True
    on: Callable[[Value], Value] = as_array
    """Converts the operand first: to a number, to bool."""
    wide: bool = False
    """Are 16-bit floats summed as float32?"""
    on_bool: Reduction | None = None
    """What to do instead when computing in bool."""
    collective: str = ""
    """What reduces over named axes, as `lax` calls it; positions may stand among the names."""


def _as_number(x: Value) -> Value:
    return promote_dtypes_numeric(x)[0]


def _as_bool(x: Value) -> Value:
    return convert(x, BOOL)


ALL = Reduction("all", reduction.reduce_and, lax.bitwise_and, True, on=_as_bool)
ANY = Reduction("any", reduction.reduce_or, lax.bitwise_or, False, on=_as_bool)
SUM = Reduction("sum", reduce_sum, lax.add, 0, on=_as_number, wide=True, on_bool=ANY, collective="psum")
PROD = Reduction("prod", reduction.reduce_prod, lax.mul, 1, on=_as_number, wide=True, on_bool=ALL)
MAX = Reduction("max", reduction.reduce_max, lax.max, -np.inf, has_identity=False, collective="pmax")
MIN = Reduction("min", reduction.reduce_min, lax.min, np.inf, has_identity=False, collective="pmin")


def reduce_over(kind: Reduction, a: Any, axis: Axis = None, *, dtype: Any = None, out: None = None,
                keepdims: bool = False, initial: Any = None, where: Any = None,
                promote_integers: bool = False) -> Value:
    """Reduce `a` over `axis` (all axes when None); one that is a string is the axis of that name under `vmap`."""
    axis, name = static_axis(axis, named=True), kind.name
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")
    check_arraylike(name, a)
    return _reduce_over(a, initial, where, kind=kind, axis=axis, dtype=user_dtype(dtype, name), keepdims=keepdims,
                        promote_integers=promote_integers)


@inline_jit("kind", "axis", "dtype", "keepdims", "promote_integers")
def _reduce_over(a: Any, initial: Any, where: Any, kind: Reduction, axis: Any, dtype: DType | None, keepdims: bool,
                 promote_integers: bool) -> Value:
    name = kind.name
    if initial is None and not kind.has_identity and where is not None:
        raise ValueError(f"reduction operation {name} does not have an identity, so to use a where mask one has to "
                         "specify 'initial'")
    a = kind.on(as_array(a))
    axes, names = reduction_axes(a, axis), axis_names(axis)
    if initial is None and not kind.has_identity and not _all(np.shape(a)[i] >= 1 for i in axes):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    result_dtype = dtype or (wide_integer(a.dtype) if promote_integers else a.dtype)
    computed = upcast_float16(result_dtype) if kind.wide else result_dtype
    collective = kind.collective
    kind = kind.on_bool if computed == BOOL and kind.on_bool is not None else kind
    a = convert(a, computed)
    if where is not None:
        a = choose_where(where, a, start_value(computed, kind.start))
    if names and not collective:
        raise NotImplementedError(f"Named reductions not implemented for jnp.{name}()")
    result = getattr(lax, collective)(a, (*names, *axes)) if names else kind.reduce(a, axes)
    if initial is not None:
        result = kind.combine(_scalar_initial(initial, computed), result)
    if keepdims:
        result = lax.expand_dims(result, axes)
    return convert(result, result_dtype)


def _scalar_initial(initial: Any, dtype: Any) -> Value:
    initial = convert(initial, dtype)
    if np.shape(initial) != ():
        raise ValueError(f"initial value must be a scalar. Got array of shape {np.shape(initial)}")
    return initial


# --- the functions ---------------------------------------------------------------------------------------------

def sum(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, keepdims: bool = False,
        initial: ArrayLike | None = None, where: ArrayLike | None = None, promote_integers: bool = True) -> Value:
    """Return the sum over `axis`, of the elements where `where`; small integers are summed in 32 bits.

    >>> jnp.sum(jnp.array([[1, 2], [3, 4]]), axis=0)
    Array([4, 6], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.sum.html.
    """
    return reduce_over(SUM, a, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where,
                       promote_integers=promote_integers)


def prod(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, keepdims: bool = False,
         initial: ArrayLike | None = None, where: ArrayLike | None = None, promote_integers: bool = True) -> Value:
    """Return the product over `axis`, of the elements where `where`; small integers are multiplied in 32 bits.

    >>> jnp.prod(jnp.array([[1, 2], [3, 4]]), axis=0)
    Array([3, 8], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.prod.html.
    """
    return reduce_over(PROD, a, axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where,
                       promote_integers=promote_integers)


def max(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
        where: ArrayLike | None = None) -> Value:
    """Return the largest element over `axis`; nan if there is one.

    Raises: ValueError for an empty array without `initial`, and for `where` without `initial`.

    >>> jnp.max(jnp.array([[1, 2], [3, 4]]), axis=0)
    Array([3, 4], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.max.html.
    """
    return reduce_over(MAX, a, axis, out=out, keepdims=keepdims, initial=initial, where=where)


def min(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
        where: ArrayLike | None = None) -> Value:
    """Return the smallest element over `axis`; nan if there is one.

    Raises: ValueError for an empty array without `initial`, and for `where` without `initial`.

    >>> jnp.min(jnp.array([[1, 2], [3, 4]]), axis=0)
    Array([1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.min.html.
    """
    return reduce_over(MIN, a, axis, out=out, keepdims=keepdims, initial=initial, where=where)


def amax(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
         where: ArrayLike | None = None) -> Value:
    """Another name of `max`.

    >>> jnp.amax(jnp.array([1, 2]))
    Array(2, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.amax.html.
    """
    return max(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def amin(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
         where: ArrayLike | None = None) -> Value:
    """Another name of `min`.

    >>> jnp.amin(jnp.array([1, 2]))
    Array(1, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.amin.html.
    """
    return min(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)


def all(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *,
        where: ArrayLike | None = None) -> Value:
    """Say whether all elements over `axis` are true (not zero).

    >>> jnp.all(jnp.array([[True, False], [True, True]]), axis=0)
    Array([ True, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.all.html.
    """
    return reduce_over(ALL, a, axis, out=out, keepdims=keepdims, where=where)


def any(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *,
        where: ArrayLike | None = None) -> Value:
    """Say whether any element over `axis` is true (not zero).

    >>> jnp.any(jnp.array([[True, False], [True, False]]), axis=0)
    Array([ True, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.any.html.
    """
    return reduce_over(ANY, a, axis, out=out, keepdims=keepdims, where=where)


# --- what other reductions use ---------------------------------------------------------------------------------

def reduction_axes(a: Any, axis: Axis) -> tuple[int, ...]:
    """Return the positions in `axis` as a tuple of axes counted from the front."""
    ndim = np.ndim(a)
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (np.ndarray, tuple, list)) else (axis,)
    axes = canonicalize_axes([i for i in axes if not isinstance(i, str)], ndim)
    if len(axes) != len(set(axes)):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return axes


def axis_names(axis: Any) -> tuple[str, ...]:
    """Return the names in `axis`."""
    return tuple(i for i in (axis if isinstance(axis, (tuple, list)) else (axis,)) if isinstance(i, str))


def static_axis(axis: Any, named: bool = False) -> Any:
    """Return `axis` as an int, a tuple of ints or None; raises when it depends on traced values.

    named: may there be names among them?
    """
    axis = concrete(axis, "The axis argument must be known statically.")
    if axis is None or (named and isinstance(axis, str)):
        return axis
    try:
        return operator.index(axis)
    except TypeError:
        return tuple(i if named and isinstance(i, str) else operator.index(i) for i in axis)


def wide_integer(dtype: DType) -> DType:
    """Return the type that integers of `dtype` are summed in: at least 32 bits, or 64 in x64 mode."""
    wide = int_dtype()
    if dtype == BOOL:
        return wide
    if is_integer(dtype) and np.iinfo(dtype).bits < np.iinfo(wide).bits:  # of less than a byte: a ValueError, as JAX's
        return np.dtype(f"{'u' if dtype.kind == 'u' else ''}int{8 * wide.itemsize}")
    return dtype


def start_value(dtype: Any, value: float) -> np.ndarray[Any, Any]:
    """Return the value to start a reduction with, as `dtype`: the least integer for -inf."""
    if dtype == BOOL:
        return np.array(value > 0)
    if np.isinf(value) and not is_inexact(dtype):
        info = integer_limits(dtype)
        value = info.min if value < 0 else info.max
    return np.array(np.sign(value) * infinity(dtype) if np.isinf(value) and is_float(dtype) else value, dtype)
