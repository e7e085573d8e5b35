"""Means, variances, ranges and counts over axes."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import inline_jit, library_jit
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import DType, is_complex, is_inexact, part_dtype
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Axis,
    DTypeLike,
    Value,
    broadcast_to,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    convert,
    int_dtype,
    promote_dtypes_inexact,
    to_inexact_dtype,
    upcast_float16,
    user_dtype,
)
from tinytrace.numpy.reductions import amax, amin, static_axis, sum
from tinytrace.numpy.shapes import moveaxis
from tinytrace.primitives.elementwise import const_like


def mean(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, keepdims: bool = False, *,
         where: ArrayLike | None = None) -> Value:
    """Return the mean over `axis`, of the elements where `where`.

    >>> jnp.mean(jnp.array([1, 2, 6]))
    Array(3., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.mean.html.
    """
    axis = static_axis(axis, named=True)
    check_arraylike("mean", a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.mean is not supported.")
    dtype = user_dtype(dtype, "mean") or to_inexact_dtype(aval_of(a).dtype)
    return _mean(a, where, axis=axis, dtype=dtype, keepdims=keepdims)


@inline_jit("axis", "dtype", "keepdims")
def _mean(a: Value, where: Any, axis: Any, dtype: DType, keepdims: bool) -> Value:
    computed = upcast_float16(dtype)
    count = _count(a, axis, computed, keepdims, where)
    total = sum(a, axis, dtype=computed, keepdims=keepdims, where=where)
    return convert(lax.div(total, count), dtype)


def _count(a: Any, axis: Any, dtype: DType, keepdims: bool, where: Any) -> Value:
    """Return how many elements are combined, as `dtype`."""
    if where is not None:
        return sum(broadcast_to(where, np.shape(a)), axis, dtype=dtype, keepdims=keepdims)
    return convert(_axis_size(np.shape(a), axis), dtype)


def _axis_size(shape: tuple[int, ...], axis: Any) -> int:
    if axis is None:
        return math.prod(shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return math.prod(lax.psum(1, i) if isinstance(i, str) else shape[i] for i in axes)


def average(a: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, returned: bool = False,
            keepdims: bool = False) -> Any:
    """Return the mean over `axis`, weighted if `weights` are given; with the sum of the weights if `returned`.

    >>> jnp.average(jnp.array([1.0, 4.0]), weights=jnp.array([3.0, 1.0]))
    Array(1.75, dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.average.html.
    """
    return _average(a, weights, axis=static_axis(axis), returned=returned, keepdims=keepdims)


@inline_jit("axis", "returned", "keepdims")
def _average(a: Any, weights: Any, axis: Any, returned: bool, keepdims: bool) -> Any:
    if weights is None:
        check_arraylike("average", a)
        a, = promote_dtypes_inexact(a)
        result = mean(a, axis=axis, keepdims=keepdims)
        size = _axis_size(a.shape, axis)
        total = lax.full((), size, dtype=result.dtype) if axis is None else lax.full_like(result, size)
    else:
        check_arraylike("average", a, weights)
        a, weights = promote_dtypes_inexact(a, weights)
        weights, axis = _broadcast_weights(a, weights, axis)
        total = sum(weights, axis=axis, keepdims=keepdims)
        result = sum(a * weights, axis=axis, keepdims=keepdims) / total
    if not returned:
        return result
    return result, total if total.shape == result.shape else broadcast_to(total, result.shape)


def _broadcast_weights(a: Value, weights: Value, axis: Any) -> tuple[Value, Any]:
    if isinstance(axis, tuple):
        axis = canonicalize_axes(axis, a.ndim)
    elif axis is not None:
        axis = canonicalize_axis(axis, a.ndim)
    if a.shape == weights.shape:
        return weights, axis
    if weights.ndim != 1:
        raise ValueError("1D weights expected when shapes of a and weights differ.")
    if axis is None:
        raise ValueError("Axis must be specified when shapes of a and weights differ.")
    if isinstance(axis, tuple):
        raise ValueError("Single axis expected when shapes of a and weights differ")
    if weights.shape[0] != a.shape[axis]:
        raise ValueError("Length of weights not compatible with specified axis.")
    return moveaxis(broadcast_to(weights, (1,) * (a.ndim - 1) + weights.shape), -1, axis), axis


def var(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, ddof: int = 0,
        keepdims: bool = False, *, where: ArrayLike | None = None, correction: float | None = None) -> Value:
    """Return the variance over `axis`: squared deviations, divided by the number of elements less `ddof`.

    >>> jnp.var(jnp.array([1.0, 3.0]))
    Array(1., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.var.html.
    """
    return _var(a, static_axis(axis, named=True), dtype, out, _correction(ddof, correction), keepdims, where=where)


def std(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, ddof: int = 0,
        keepdims: bool = False, *, where: ArrayLike | None = None, correction: float | None = None) -> Value:
    """Return the standard deviation over `axis`: the square root of `var`.

    >>> jnp.std(jnp.array([1.0, 3.0]))
    Array(1., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.std.html.
    """
    return _std(a, static_axis(axis, named=True), dtype, out, _correction(ddof, correction), keepdims, where=where)


def _correction(ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@library_jit("axis", "dtype", "keepdims")
def _var(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, correction: Any = 0,
         keepdims: bool = False, *, where: ArrayLike | None = None) -> Value:
    check_arraylike("var", a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.var is not supported.")
    computed, dtype = variance_dtypes(aval_of(a).dtype, user_dtype(dtype, "var"))
    a = convert(a, computed)
    center = mean(a, axis, dtype=computed, keepdims=True, where=where)
    deviations = lax.sub(a, center)
    squares = squared_sizes(deviations)
    computed = part_dtype(computed)
    count = _count(a, axis, computed, keepdims, where)
    count = lax.sub(count, convert(correction, computed))
    total = sum(squares, axis, dtype=computed, keepdims=keepdims, where=where)
    result = convert(lax.div(total, count), dtype)
    return choose_where(count > 0, result, np.nan)


def squared_sizes(x: Value) -> Value:
    """Return the squares of numbers, of complex ones those of their absolute values."""
    return lax.real(lax.mul(x, lax.conj(x))) if is_complex(aval_of(x).dtype) else lax.square(x)


def variance_dtypes(dtype: DType, wanted: Any) -> tuple[DType, DType]:
    """Return the dtype to compute in and that of the result."""
    if wanted and is_complex(dtype) and not is_complex(wanted):
        raise ValueError("jax.numpy.var does not yet support real dtype parameters when computing the variance of an "
                         "array of complex values. The semantics of numpy.var seem unclear in this case. Please "
                         "comment on https://github.com/jax-ml/jax/issues/2283 if this behavior is important to you.")
    computed = wanted or to_inexact_dtype(dtype)
    return upcast_float16(computed), wanted or part_dtype(computed)


@library_jit("axis", "dtype", "keepdims")
def _std(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, correction: Any = 0,
         keepdims: bool = False, *, where: ArrayLike | None = None) -> Value:
    check_arraylike("std", a)
    dtype = user_dtype(dtype, "std")
    if dtype is not None and not is_inexact(dtype):
        raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.std is not supported.")
    return lax.sqrt(var(a, axis=axis, dtype=dtype, correction=correction, keepdims=keepdims, where=where))


def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Value:
    """Return the range over `axis`: the largest element less the smallest.

    >>> jnp.ptp(jnp.array([1, 5, 3]))
    Array(4, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.ptp.html.
    """
    return _ptp(a, static_axis(axis, named=True), out, keepdims)


@library_jit("axis", "keepdims")
def _ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Value:
    check_arraylike("ptp", a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.ptp is not supported.")
    return lax.sub(amax(a, axis=axis, keepdims=keepdims), amin(a, axis=axis, keepdims=keepdims))


@library_jit("axis", "keepdims")
def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Value:
    """Count the elements over `axis` that are not zero.

    >>> jnp.count_nonzero(jnp.array([0, 5, 7]))
    Array(2, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.count_nonzero.html.
    """
    check_arraylike("count_nonzero", a)
    return sum(lax.ne(a, const_like(a, 0)), axis=axis, dtype=int_dtype(), keepdims=keepdims)
