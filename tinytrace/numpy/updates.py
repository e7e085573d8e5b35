"""`x.at[index]`: a changed copy of an immutable array, by slices set or scattered."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import remembered
from tinytrace.config import config
from tinytrace.core.array import Array, array_from_numpy
from tinytrace.core.dtypes import KeyType, TypePromotionError, is_float, is_integer, result_type
from tinytrace.core.storage_types import STORAGE_TYPES, integer_limits
from tinytrace.core.trace import is_eager
from tinytrace.numpy.arithmetic import divide
from tinytrace.numpy.array_creation import asarray, ones_like
from tinytrace.numpy.index_parsing import is_empty, parse, to_gather
from tinytrace.numpy.indexing import is_plain, take_index
from tinytrace.numpy.powers import power
from tinytrace.numpy.promotion import Value, broadcast_to, promote_dtypes
from tinytrace.numpy.shapes import squeeze


class _IndexUpdateHelper:
    """What `x.at` is: index it to say which elements to change."""

    __slots__ = ("array",)

    def __init__(self, array: Value) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> _IndexUpdateRef:
        return _IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class _IndexUpdateRef:
    """What `x.at[index]` is: its methods return `x` with the elements at `index` changed.

    All take `indices_are_sorted` and `unique_indices` (promises about the index) and `mode`: what happens to positions
    out of range: "drop"/"fill" (the default for updates), "clip", or "promise_in_bounds".
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.ndarray.at.html.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Value, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(self, *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
            fill_value: Any = None) -> Value:
        """Return `x[index]`."""
        return take_index(self.array, self.index, indices_are_sorted, unique_indices, mode, fill_value)

    def set(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: Any = None) -> Value:
        """Do `x[index] = values`."""
        return self._scatter(lax.scatter, values, indices_are_sorted, unique_indices, mode)

    def add(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: Any = None) -> Value:
        """Do `x[index] += values`; positions that occur twice get both."""
        return self._scatter(lax.scatter_add, values, indices_are_sorted, unique_indices, mode)

    def subtract(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
                 mode: Any = None) -> Value:
        """Do `x[index] -= values`; positions that occur twice get both."""
        return self._scatter(lax.scatter_sub, values, indices_are_sorted, unique_indices, mode)

    def multiply(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
                 mode: Any = None) -> Value:
        """Do `x[index] *= values`; positions that occur twice get both."""
        return self._scatter(lax.scatter_mul, values, indices_are_sorted, unique_indices, mode)

    mul = multiply

    def divide(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
               mode: Any = None) -> Value:
        """Do `x[index] /= values`."""
        return divide(self.array, self._on_ones(values, indices_are_sorted, unique_indices, mode))

    def power(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
              mode: Any = None) -> Value:
        """Do `x[index] **= values`."""
        return power(self.array, self._on_ones(values, indices_are_sorted, unique_indices, mode))

    def min(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: Any = None) -> Value:
        """Do `x[index] = minimum(x[index], values)`."""
        return self._scatter(lax.scatter_min, values, indices_are_sorted, unique_indices, mode)

    def max(self, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: Any = None) -> Value:
        """Do `x[index] = maximum(x[index], values)`."""
        return self._scatter(lax.scatter_max, values, indices_are_sorted, unique_indices, mode)

    def apply(self, func: Callable[[Any], Any], *, indices_are_sorted: bool = False, unique_indices: bool = False,
              mode: Any = None) -> Value:
        """Do `x[index] = func(x[index])`; once for each time that a position occurs."""

        def scatter(x: Value, positions: Value, updates: Value, numbers: Any, **options: Any) -> Value:
            return lax.scatter_apply(x, positions, func, numbers, update_shape=updates.shape, **options)

        return self._scatter(scatter, lax.full((), 0, self.array.dtype), indices_are_sorted, unique_indices, mode)

    def _scatter(self, scatter: Callable[..., Value], values: Any, indices_are_sorted: bool, unique_indices: bool,
                 mode: Any) -> Value:
        if type(self.array) is Array and mode is None and is_eager() and scatter in _IN_NUMPY:
            out = _update_in_numpy(self.array, self.index, values, _IN_NUMPY[scatter])
            if out is not None:
                return out
        if type(self.array) is Array and is_eager() and scatter in _SCATTERS:
            known = _known_update(self.array, self.index, values, scatter, indices_are_sorted, unique_indices, mode)
            if known is not None:
                return known
        return scatter_update(self.array, self.index, values, scatter, indices_are_sorted, unique_indices, mode)

    def _on_ones(self, values: Any, indices_are_sorted: bool, unique_indices: bool, mode: Any) -> Value:
        """Return 1 everywhere and `values` at the index."""
        return scatter_update(ones_like(self.array), self.index, values, lax.scatter_mul, indices_are_sorted,
                              unique_indices, mode)


_IN_NUMPY: dict[Callable[..., Value], Callable[[Any, Any], Any]] = {
    lax.scatter: lambda old, new: new, lax.scatter_add: np.add, lax.scatter_sub: np.subtract,
    lax.scatter_mul: np.multiply,
}


def _update_in_numpy(x: Array, index: Any, values: Any, combine: Callable[[Any, Any], Any]) -> Array | None:
    """Let NumPy do it outside of a trace, where the index is plain and in range, and the values have the same type."""
    kind = x.dtype.kind
    if isinstance(x.dtype, KeyType) or x.dtype in STORAGE_TYPES or not is_plain(index, x.shape):
        return None
    if type(values) is Array and values.dtype == x.dtype:
        values = values._value
    elif not (type(values) is float and is_float(x.dtype)) and not (type(values) is int and abs(values) < 128
                                                                   and kind != "b" and (values >= 0 or kind != "u")):
        return None
    out = np.array(x._value)
    part = out[index]
    if np.ndim(values) > np.ndim(part) or any(n not in (1, m) for n, m in zip(np.shape(values)[::-1],
                                                                              np.shape(part)[::-1], strict=False)):
        return None
    with np.errstate(all="ignore"):
        out[index] = combine(part, values)
    return array_from_numpy(out, x.aval)


_SCATTERS = {lax.scatter, lax.scatter_add, lax.scatter_sub, lax.scatter_mul, lax.scatter_min, lax.scatter_max}
_POSITIONS, _WHOLE = "positions", ":"
"""Stand in the form of an index for an array and for a whole axis."""


def _known_update(x: Array, index: Any, values: Any, scatter: Callable[..., Value], indices_are_sorted: bool,
                  unique_indices: bool, mode: Any) -> Value | None:
    """Scatter outside of a trace by one program for all indices of this form; None where they are of another form.

    Arrays of positions, whole axes, `...` and None are such indices.
    """
    form: list[Any] = []
    arrays = []
    for entry in index if type(index) is tuple else (index,):
        if type(entry) is np.ndarray and entry.dtype.kind in "iu":
            entry = asarray(entry)
        if type(entry) is Array and entry.dtype != np.bool_:
            arrays.append(entry)
            form.append(_POSITIONS)
        elif entry is None or entry is Ellipsis:
            form.append(entry)
        elif type(entry) is slice and entry.start is entry.stop is entry.step is None:
            form.append(_WHOLE)
        else:
            return None
    if isinstance(values, (np.ndarray, np.generic)) and values.dtype.kind in "biufc":
        values = asarray(values)
    if not arrays or type(values) not in (Array, int, float):
        return None
    if type(values) is not Array:
        values = as_update(values, x)
    return _update(x, arrays, values, scatter, tuple(form), indices_are_sorted, unique_indices, mode)


@remembered("scatter", "form", "indices_are_sorted", "unique_indices", "mode")
def _update(x: Value, arrays: list[Value], values: Value, scatter: Callable[..., Value], form: tuple[Any, ...],
            indices_are_sorted: bool, unique_indices: bool, mode: Any) -> Value:
    rest = iter(arrays)
    index = tuple([next(rest) if entry == _POSITIONS else slice(None) if entry == _WHOLE else entry for entry in form])
    return scatter_update(x, index, values, scatter, indices_are_sorted, unique_indices, mode)


def as_update(y: Any, x: Value) -> Value:
    """Return the values of an update of `x` as an array: integers in the range of its type have that type."""
    if isinstance(y, int) and is_integer(x.dtype):
        limits = integer_limits(x.dtype)
        if limits.min <= y <= limits.max:
            return asarray(y, dtype=x.dtype)
    return asarray(y)


def scatter_update(x: Value, index: Any, y: Any, scatter: Callable[..., Value], indices_are_sorted: bool = False,
                   unique_indices: bool = False, mode: Any = None, normalize: bool = True) -> Value:
    """Combine `y` into the elements of `x` at `index` with one of the scatters of `lax`."""
    x = asarray(x)
    y = as_update(y, x)
    dtype, weak_type = x.dtype, x.weak_type
    _warn_unless_safe(y, x)
    indexer = to_gather(x.shape, parse(index, x.shape), normalize)
    if is_empty(indexer.slice_shape):
        return x
    x, y = promote_dtypes(x, y)
    y = squeeze(broadcast_to(y, indexer.slice_shape), indexer.new_dims)
    if indexer.reversed_dims:
        y = lax.rev(y, indexer.reversed_dims)
    if indexer.bool_dims:
        x = lax.expand_dims(x, indexer.bool_dims)
    numbers = indexer.dimension_numbers
    out = scatter(x, indexer.positions, y,
                  lax.ScatterDimensionNumbers(
                      numbers.offset_dims, numbers.collapsed_slice_dims, numbers.start_index_map,
                      numbers.operand_batching_dims, numbers.start_indices_batching_dims),
                  indices_are_sorted=indexer.is_basic or indices_are_sorted,
                  unique_indices=indexer.is_basic or unique_indices, mode=mode)
    if indexer.bool_dims:
        out = lax.squeeze(out, indexer.bool_dims)
    return lax.convert_element_type(out, dtype, weak_type)


def _warn_unless_safe(y: Value, x: Value) -> None:
    """Warn when values have a type that the array's does not contain."""
    try:
        safe = y.dtype == x.dtype or result_type(y, x.dtype) == x.dtype
    except TypePromotionError:
        safe = False
    if not safe:
        warnings.warn(f"scatter inputs have incompatible types: cannot safely cast value from dtype={y.dtype} to "
                      f"dtype={x.dtype} with jax_numpy_dtype_promotion={config.numpy_dtype_promotion!r}. In future JAX "
                      "releases this will result in an error.", FutureWarning, stacklevel=4)
