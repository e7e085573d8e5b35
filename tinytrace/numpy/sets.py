"""Sets as sorted arrays: unique, union1d, intersect1d, setdiff1d, setxor1d, isin."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.array import Array
from tinytrace.core.dtypes import is_complex, is_inexact
from tinytrace.core.storage_types import STORAGE_TYPES
from tinytrace.core.trace import is_eager
from tinytrace.numpy.array_creation import array, asarray, empty, full_like, ones, zeros
from tinytrace.numpy.classification import isnan
from tinytrace.numpy.concrete_sets import distinct, found_by_sorting
from tinytrace.numpy.cumulative import cumsum, diff
from tinytrace.numpy.joining import append, concatenate
from tinytrace.numpy.positions import searchsorted
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    canonicalize_axis,
    check_arraylike,
    concrete,
    concrete_index,
    int_dtype,
    promote_dtypes,
)
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.reductions import any
from tinytrace.numpy.searching import nonzero, where
from tinytrace.numpy.shapes import moveaxis, ravel
from tinytrace.numpy.sorting import lexsort, sort
from tinytrace.primitives.elementwise import const_like
from tinytrace.records import NamedTuple

_SIZE_HINT = ("To make jnp.unique() compatible with JIT and other transforms, you can specify a concrete value for the "
              "size argument, which will determine the output size.")


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Value
    indices: Value
    inverse_indices: Value
    counts: Value


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Value
    counts: Value


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Value
    inverse_indices: Value


def unique(ar: ArrayLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, *, equal_nan: bool = True, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the distinct elements, sorted; with the index of each, the way back, and their counts, if asked.

    While tracing, `size` must say how many to return; missing ones are `fill_value` (the least when not given).

    >>> jnp.unique(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.unique.html.
    """
    check_arraylike("unique", ar)
    if size is None:
        ar = concrete(ar, "The error arose for the first argument of jnp.unique(). " + _SIZE_HINT)
    else:
        size = concrete_index(size, "The error arose for the size argument of jnp.unique(). " + _SIZE_HINT)
    arr = asarray(ar)
    shape = arr.shape
    flat = axis is None
    if flat and size is None and equal_nan and not (return_index or return_inverse or return_counts) and \
            type(arr) is Array and is_eager() and arr.dtype.kind in "biuf" and arr.dtype not in STORAGE_TYPES:
        return distinct(arr._value.ravel())
    arr, axis = (arr.flatten(), 0) if axis is None else (arr, canonicalize_axis(axis, arr.ndim))
    found = _Unique(arr, axis, equal_nan, size, fill_value)
    result = [found.values()]
    if return_index:
        result.append(found.indices())
    if return_inverse:
        inverse = found.inverse()
        result.append(inverse.reshape(shape) if flat else inverse)
    if return_counts:
        result.append(found.counts())
    return result[0] if len(result) == 1 else tuple(result)


class _Unique:
    """The layers of `arr` along `axis`, sorted, and where in this order a new one begins."""

    def __init__(self, arr: Value, axis: int, equal_nan: bool, size: int | None, fill_value: Any = None) -> None:
        if arr.shape[axis] == 0 and size and fill_value is None:
            raise ValueError("jnp.unique: for zero-sized input with nonzero size argument, fill_value must be "
                             "specified")
        self.arr, self.axis, self.size, self.fill_value = arr, axis, size, fill_value
        self.sorted, self.is_new, self.order = _unique_sorted_mask(arr, axis, equal_nan)
        if size is None:
            self.places = concrete(self.is_new, "The error arose in jnp.unique(). " + _SIZE_HINT)
        else:
            self.places = nonzero(self.is_new, size=size)[0]

    def values(self) -> Value:
        result = self.sorted[self.places] if self.sorted.size else self.sorted
        if self.size is not None and self.fill_value is not None:
            fill = asarray(self.fill_value, dtype=result.dtype)
            if result.shape[0]:
                valid = arange(self.size) < self.is_new.sum()
                result = where(lax.expand_dims(valid, tuple(range(1, result.ndim))), result, fill)
            else:
                result = full_like(result, fill, shape=(self.size, *result.shape[1:]))
        return moveaxis(result, 0, self.axis)

    def indices(self) -> Value:
        return self.order[self.places] if self.sorted.size else self.order

    def inverse(self) -> Value:
        if not self.sorted.size:
            return zeros(self.arr.shape[self.axis], dtype=int)
        ranks = cumsum(self.is_new) - 1
        return zeros(self.is_new.shape, dtype=int_dtype()).at[self.order].set(ranks)

    def counts(self) -> Value:
        n = self.arr.shape[self.axis]
        if not self.sorted.size:
            return array([n], dtype=int_dtype()) if n else empty(0, dtype=int)
        if self.size is None:
            return diff(append(nonzero(self.is_new)[0], n))
        starts = nonzero(self.is_new, size=self.size + 1)[0]
        return diff(starts.at[1:].set(where(starts[1:], starts[1:], n)))


@library_jit("axis", "equal_nan")
def _unique_sorted_mask(ar: Value, axis: int, equal_nan: bool) -> tuple[Value, Value, Value]:
    layers = moveaxis(ar, axis, 0)
    if is_complex(layers.dtype):  # sort takes a number with NaN as its imaginary part alone for a number
        layers = where(isnan(layers), const_like(layers, np.nan), layers)
    n, *layer_shape = layers.shape
    if math.prod(layer_shape) == 0:
        n, order = 1, zeros(1, dtype=int)
    else:
        order = lexsort(layers.reshape(n, math.prod(layer_shape)).T[::-1])
    layers = layers[order]
    if not layers.size:
        return layers, zeros(n, dtype=bool), order
    is_new, here, before = ones(n, dtype=bool), layers[1:], layers[:-1]
    differs = lax.ne(here, before)
    if is_inexact(layers.dtype) and equal_nan:
        differs = differs & ~(isnan(here) & isnan(before))
    is_new = is_new.at[1:].set(any(differs, tuple(range(1, layers.ndim))))
    return layers, is_new, order


def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """Return the distinct elements, their first indices, the way back, and their counts.

    >>> jnp.unique_all(jnp.array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.unique_all.html.
    """
    check_arraylike("unique_all", x)
    return UniqueAll(*unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False, size=size,
                             fill_value=fill_value))


def unique_counts(x: ArrayLike, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """Return the distinct elements and their counts.

    >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.unique_counts.html.
    """
    check_arraylike("unique_counts", x)
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: ArrayLike, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """Return the distinct elements and the way back.

    >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.unique_inverse.html.
    """
    check_arraylike("unique_inverse", x)
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: Any = None) -> Value:
    """Return the distinct elements.

    >>> jnp.unique_values(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.unique_values.html.
    """
    check_arraylike("unique_values", x)
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# --- one set and another ---------------------------------------------------------------------------------------

def isin(element: ArrayLike, test_elements: ArrayLike, assume_unique: bool = False, invert: bool = False, *,
         method: str = "auto") -> Value:
    """Say which elements are among `test_elements` (or are not, if `invert`).

    >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([3, 1]))
    Array([ True, False,  True], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isin.html.
    """
    check_arraylike("isin", element, test_elements)
    if method == "auto" and is_eager() and (found := found_by_sorting(element, test_elements, invert)) is not None:
        return found
    result = _in1d(element, test_elements, invert=invert, method=method, assume_unique=assume_unique)
    return result.reshape(np.shape(element))


@library_jit("assume_unique", "invert", "method")
def _in1d(ar1: ArrayLike, ar2: ArrayLike, invert: bool, method: str = "auto", assume_unique: bool = False) -> Value:
    check_arraylike("in1d", ar1, ar2)
    a, b = promote_dtypes(ar1, ar2)
    a, b = a.ravel(), b.ravel()
    if a.size == 0 or b.size == 0:
        return (ones if invert else zeros)(a.shape, dtype=bool)
    if method in ("auto", "compare_all"):
        return (a[:, None] != b[None, :]).all(-1) if invert else (a[:, None] == b[None, :]).any(-1)
    if method == "binary_search":
        b = lax.sort(b)
        place = searchsorted(b, a)
        return a != b[place] if invert else a == b[place]
    if method != "sort":
        raise ValueError(f"method={method!r} is not implemented; options are 'compare_all', 'binary_search', 'sort', "
                         "and 'auto'")
    back: Any = slice(None)
    if not assume_unique:
        a, back = unique(a, size=len(a), return_inverse=True, fill_value=b.max())
    both, order = lax.sort_key_val(concatenate([a, b]), arange(a.size + b.size))
    if invert:
        return ones(a.shape, bool).at[order[:-1]].set(both[1:] != both[:-1], mode="drop")[back]
    return zeros(a.shape, bool).at[order[:-1]].set(both[1:] == both[:-1], mode="drop")[back]


def union1d(ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Value:
    """Return the elements of either array, sorted, each once.

    >>> jnp.union1d(jnp.array([1, 2]), jnp.array([2, 3]))
    Array([1, 2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.union1d.html.
    """
    check_arraylike("union1d", ar1, ar2)
    if size is None:
        ar1, ar2 = concrete(ar1, "The error arose in union1d()"), concrete(ar2, "The error arose in union1d()")
    else:
        size = concrete_index(size, "The error arose in union1d()")
    return unique(concatenate((ar1, ar2), axis=None), size=size, fill_value=fill_value)


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, size: int | None = None,
              fill_value: Any = None) -> Value:
    """Return the elements of the first array that are not in the second, sorted, each once.

    >>> jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([2]))
    Array([1, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.setdiff1d.html.
    """
    check_arraylike("setdiff1d", ar1, ar2)
    if size is None:
        ar1 = concrete(ar1, "The error arose in setdiff1d()")
    else:
        size = concrete_index(size, "The error arose in setdiff1d()")
    a = asarray(ar1)
    fill = asarray(0 if fill_value is None else fill_value, dtype=a.dtype)
    if a.size == 0:
        return full_like(a, fill, shape=size or 0)
    if not assume_unique:
        a = unique(a, size=size and a.size)
    keep = _in1d(a, ar2, invert=True, assume_unique=assume_unique)
    if size is None:
        return a[keep]
    if not assume_unique:
        distinct = a.size + 1 - (a == a[0]).sum()
        keep = where(arange(a.size) < distinct, keep, False)
    return where(arange(size) < keep.sum(), a[where(keep, size=size)], fill)


def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, size: int | None = None,
             fill_value: Any = None) -> Value:
    """Return the elements of exactly one of the arrays, sorted, each once.

    >>> jnp.setxor1d(jnp.array([1, 2]), jnp.array([2, 3]))
    Array([1, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.setxor1d.html.
    """
    check_arraylike("setxor1d", ar1, ar2)
    a, b = promote_dtypes(ravel(ar1), ravel(ar2))
    if size is not None:
        both, _, mask = _sorted_together(a, b, assume_unique)
        once = (both[1:] != both[:-1]) | ~mask[1:]
        single = concatenate((array([True]), once)) & concatenate((once, array([True]))) & mask
        return _packed(both, single, size, fill_value)
    if not assume_unique:
        a, b = unique(a), unique(b)
    both = concatenate((a, b))
    if both.size == 0:
        return both
    both = sort(both)
    is_new = concatenate((array([True]), both[1:] != both[:-1], array([True])))
    return both[is_new[1:] & is_new[:-1]]


def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False, *,
                size: int | None = None, fill_value: Any = None) -> Any:
    """Return the elements that are in both arrays, sorted, each once; with their indices in both, if asked.

    >>> jnp.intersect1d(jnp.array([1, 2, 3]), jnp.array([3, 2]))
    Array([2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.intersect1d.html.
    """
    check_arraylike("intersect1d", ar1, ar2)
    a, b = promote_dtypes(ar1, ar2)
    a, b = ravel(a), ravel(b)
    if size is not None:
        both, order, mask = _sorted_together(a, b, assume_unique)
        twice = concatenate(((both[1:] == both[:-1]) & mask[1:], array([False])))
        values = _packed(both, twice, size, fill_value)
        if not return_indices:
            return values
        places = nonzero(twice, size=size, fill_value=both.size)[0]
        return (values, order.at[places].get(mode="fill", fill_value=a.size),
                (order - a.size).at[places + 1].get(mode="fill", fill_value=b.size))
    first = second = None
    if not assume_unique:
        a, first = unique(a, return_index=True)
        b, second = unique(b, return_index=True)
    both, order = lax.sort_key_val(concatenate((a, b)), arange(a.size + b.size))
    twice = both[1:] == both[:-1]
    values = both[:-1][twice]
    if not return_indices:
        return values
    at_first, at_second = order[:-1][twice], order[1:][twice] - a.size
    if first is None or second is None:
        return values, at_first, at_second
    return values, first[at_first], second[at_second]


def _sorted_together(a: Value, b: Value, assume_unique: bool) -> tuple[Value, Value, Value]:
    """Return the distinct elements of both arrays, sorted, their places in the two joined, and which are no filling."""
    if assume_unique:
        both, order = lax.sort((concatenate([a, b]), arange(a.size + b.size)), num_keys=1)
        return both, order, ones(both.size, dtype=bool)
    parts = [_Unique(x, 0, True, x.size, 0) for x in (a, b)]
    values = concatenate([part.values() for part in parts])
    places = concatenate([parts[0].indices(), parts[1].indices() + a.size])
    filling = concatenate([arange(part.arr.size) >= part.is_new.sum() for part in parts])
    filling, both, order = lax.sort((filling, values, places), num_keys=2)
    return both, order, ~filling


def _packed(values: Value, chosen: Value, size: int, fill_value: Any) -> Value:
    """Return the chosen values first, and then the filling: the largest of them when none is given."""
    places = nonzero(chosen, size=size, fill_value=values.size)[0]
    found = values.at[places].get(mode="fill", fill_value=0)
    valid = arange(size) < chosen.sum()
    if fill_value is not None:
        return where(valid, found, fill_value)
    found = where(valid, found, found.max())
    return where(valid, found, found.min())
