"""Quantiles, percentiles and medians, also of the elements that are not nan."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.dtypes import is_complex
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    convert,
    int_dtype,
    promote_dtypes_inexact,
)
from tinytrace.numpy.reductions import any, sum
from tinytrace.primitives.elementwise import const_like

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@library_jit("axis", "overwrite_input", "interpolation", "keepdims", "method")
def quantile(a: ArrayLike, q: ArrayLike, axis: Any = None, out: None = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: bool = False, *, interpolation: str | None = None) -> Value:
    """Return the value below which a fraction `q` of the elements over `axis` lies: one value per q.

    method: what lies between two elements: "linear" interpolates; "lower", "higher", "midpoint", "nearest".

    >>> jnp.quantile(jnp.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    Array(2.5, dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.quantile.html.
    """
    check_arraylike("quantile", a, q)
    method = _method("quantile", method, interpolation)
    if overwrite_input or out is not None:
        raise ValueError("jax.numpy.quantile does not support overwrite_input=True or out != None")
    return _quantile(asarray(a), asarray(q), axis, method, keepdims, skip_nan=False)


@library_jit("axis", "overwrite_input", "interpolation", "keepdims", "method")
def nanquantile(a: ArrayLike, q: ArrayLike, axis: Any = None, out: None = None, overwrite_input: bool = False,
                method: str = "linear", keepdims: bool = False, *, interpolation: str | None = None) -> Value:
    """Return `quantile` of the elements that are not nan.

    >>> jnp.nanquantile(jnp.array([1.0, jnp.nan, 3.0]), 0.5)
    Array(2., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanquantile.html.
    """
    check_arraylike("nanquantile", a, q)
    method = _method("nanquantile", method, interpolation)
    if overwrite_input or out is not None:
        raise ValueError("jax.numpy.nanquantile does not support overwrite_input=True or out != None")
    return _quantile(asarray(a), asarray(q), axis, method, keepdims, skip_nan=True)


@library_jit("axis", "overwrite_input", "interpolation", "keepdims", "method")
def percentile(a: ArrayLike, q: ArrayLike, axis: Any = None, out: None = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: bool = False, *, interpolation: str | None = None) -> Value:
    """Return `quantile` for `q` in percent.

    >>> jnp.percentile(jnp.array([1.0, 2.0, 3.0, 4.0]), 50)
    Array(2.5, dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.percentile.html.
    """
    check_arraylike("percentile", a, q)
    method = _method("percentile", method, interpolation)
    q, = promote_dtypes_inexact(q)
    return quantile(a, q / 100, axis=axis, out=out, overwrite_input=overwrite_input, method=method, keepdims=keepdims)


@library_jit("axis", "overwrite_input", "interpolation", "keepdims", "method")
def nanpercentile(a: ArrayLike, q: ArrayLike, axis: Any = None, out: None = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: bool = False, *, interpolation: str | None = None) -> Value:
    """Return `percentile` of the elements that are not nan.

    >>> jnp.nanpercentile(jnp.array([1.0, jnp.nan, 3.0]), 50)
    Array(2., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanpercentile.html.
    """
    check_arraylike("nanpercentile", a, q)
    method = _method("nanpercentile", method, interpolation)
    q, = promote_dtypes_inexact(q)
    return nanquantile(a, q / 100, axis=axis, out=out, overwrite_input=overwrite_input, method=method,
                       keepdims=keepdims)


@library_jit("axis", "overwrite_input", "keepdims")
def median(a: ArrayLike, axis: Any = None, out: None = None, overwrite_input: bool = False,
           keepdims: bool = False) -> Value:
    """Return the middle element over `axis`, or the mean of the two in the middle.

    >>> jnp.median(jnp.array([1.0, 9.0, 2.0]))
    Array(2., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.median.html.
    """
    check_arraylike("median", a)
    return quantile(a, 0.5, axis=axis, out=out, overwrite_input=overwrite_input, keepdims=keepdims, method="midpoint")


@library_jit("axis", "overwrite_input", "keepdims")
def nanmedian(a: ArrayLike, axis: Any = None, out: None = None, overwrite_input: bool = False,
              keepdims: bool = False) -> Value:
    """Return `median` of the elements that are not nan.

    >>> jnp.nanmedian(jnp.array([1.0, jnp.nan, 2.0]))
    Array(1.5, dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanmedian.html.
    """
    check_arraylike("nanmedian", a)
    return nanquantile(a, 0.5, axis=axis, out=out, overwrite_input=overwrite_input, keepdims=keepdims,
                       method="midpoint")


# --- how -------------------------------------------------------------------------------------------------------

def _method(function: str, method: str, interpolation: str | None) -> str:
    if interpolation is None:
        return method
    warnings.warn(f"The interpolation= argument to '{function}' is deprecated. Use 'method=' instead.",
                  DeprecationWarning, stacklevel=6)
    return interpolation


def _quantile(a: Value, q: Value, axis: Any, method: str, keepdims: bool, skip_nan: bool) -> Value:
    if method not in METHODS:
        raise ValueError("method can only be 'linear', 'lower', 'higher', 'midpoint', or 'nearest'")
    a, = promote_dtypes_inexact(a)
    if is_complex(a.dtype):
        raise ValueError("quantile does not support complex input, as the operation is poorly defined.")
    kept_shape: list[int] = []
    if axis is None or isinstance(axis, tuple):
        kept_shape = _kept_shape(a, axis) if keepdims else []
        a, axis = _merge_axes(a, axis)
    else:
        axis = canonicalize_axis(axis, a.ndim)
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")
    bounds = _bounds_skipping_nan if skip_nan else _bounds
    low, high, low_weight, high_weight = bounds(a, q, axis, keepdims)
    result = _between(method, q, low, high, low_weight, high_weight)
    if keepdims and kept_shape:
        result = result.reshape([*q.shape, *kept_shape])
    return convert(result, a.dtype)


def _kept_shape(a: Value, axis: tuple[int, ...] | None) -> list[int]:
    axes = range(a.ndim) if axis is None else canonicalize_axes(axis, a.ndim)
    return [1 if i in axes else size for i, size in enumerate(a.shape)]


def _merge_axes(a: Value, axis: tuple[int, ...] | None) -> tuple[Value, int]:
    """Return `a` with the axes that are reduced merged into one, and that one."""
    if axis is None:
        return a.ravel(), 0
    axes = canonicalize_axes(axis, a.ndim)
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis")
    order = list(range(a.ndim))
    for i, kept in enumerate(i for i in range(a.ndim) if i not in axes):
        order[i], order[kept] = order[kept], order[i]
    kept_sizes = tuple(size for i, size in enumerate(a.shape) if i not in axes)
    merged = math.prod(a.shape[i] for i in axes)
    a = lax.reshape(a, (*kept_sizes, merged), order)
    return a, a.ndim - 1


def _bounds(a: Value, q: Value, axis: int, keepdims: bool) -> tuple[Value, Value, Value, Value]:
    """Return the sorted elements below and above each quantile, and the weight of each."""
    a = choose_where(any(lax.ne(a, a), axis=axis, keepdims=True), np.nan, a)
    a = lax.sort(a, dimension=axis)
    size = convert(a.shape[axis], q.dtype)
    q = lax.mul(q, size - 1)
    low, high = lax.floor(q), lax.ceil(q)
    high_weight = lax.sub(q, low)
    low_weight = lax.sub(const_like(high_weight, 1), high_weight)
    low = lax.clamp(const_like(low, 0), low, size - 1)
    high = lax.clamp(const_like(high, 0), high, size - 1)
    low, high = convert(low, int_dtype()), convert(high, int_dtype())
    sizes = [1 if i == axis else size for i, size in enumerate(a.shape)]
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(q.ndim, q.ndim + a.ndim - (not keepdims))),
        collapsed_slice_dims=() if keepdims else (axis,), start_index_map=(axis,))
    low_value = lax.gather(a, low[..., None], numbers, sizes)
    high_value = lax.gather(a, high[..., None], numbers, sizes)
    if q.ndim == 1:
        low_weight = lax.broadcast_in_dim(low_weight, low_value.shape, (0,))
        high_weight = lax.broadcast_in_dim(high_weight, high_value.shape, (0,))
    return low_value, high_value, low_weight, high_weight


def _bounds_skipping_nan(a: Value, q: Value, axis: int, keepdims: bool) -> tuple[Value, Value, Value, Value]:
    """`_bounds` among the elements that are not nan, whose number differs from row to row."""
    a = choose_where(lax.ne(a, a), np.nan, a)
    a = lax.sort(a, dimension=axis)
    counts = sum(lax.bitwise_not(lax.ne(a, a)), axis=axis, dtype=q.dtype, keepdims=keepdims)
    q_shape, row_shape = q.shape, counts.shape
    q = lax.expand_dims(q, tuple(range(len(q_shape), len(row_shape) + len(q_shape))))
    counts = lax.expand_dims(counts, tuple(range(len(q_shape))))
    q = lax.mul(q, lax.sub(counts, const_like(q, 1)))
    low, high = lax.floor(q), lax.ceil(q)
    high_weight = lax.sub(q, low)
    low_weight = lax.sub(const_like(high_weight, 1), high_weight)
    low = lax.max(const_like(low, 0), lax.min(low, counts - 1))
    high = lax.max(const_like(high, 0), lax.min(high, counts - 1))
    low, high = convert(low, int_dtype()), convert(high, int_dtype())
    shape = q_shape + row_shape
    index = [lax.broadcasted_iota(int_dtype(), shape, len(q_shape) + i) for i in range(len(row_shape))]
    index[axis:axis + keepdims] = [low]
    low_value = a[tuple(index)]
    index[axis] = high
    return low_value, a[tuple(index)], low_weight, high_weight


def _between(method: str, q: Value, low: Value, high: Value, low_weight: Value, high_weight: Value) -> Value:
    if method == "linear":
        return lax.add(lax.mul(convert(low, q.dtype), low_weight), lax.mul(convert(high, q.dtype), high_weight))
    if method == "midpoint":
        return lax.mul(lax.add(low, high), const_like(low, 0.5))
    if method == "nearest":
        return lax.select(lax.le(high_weight, const_like(high_weight, 0.5)), low, high)
    return low if method == "lower" else high
