"""Sums, extremes, means and variances of the elements that are not nan."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import is_inexact
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Axis,
    DTypeLike,
    Value,
    check_arraylike,
    convert,
    user_dtype,
)
from tinytrace.numpy.reductions import all, max, min, prod, start_value, sum
from tinytrace.numpy.statistics import mean, squared_sizes, variance_dtypes
from tinytrace.primitives.elementwise import const_like, zero_like


def _without_nan(name: str, reduce: Callable[..., Value], a: Any, instead: float, axis: Axis, keepdims: bool,
                 nan_if_nothing_else: bool = False, **options: Any) -> Value:
    """Reduce `a` with nan replaced by `instead`; nan where there is nothing else, if asked."""
    check_arraylike(name, a)
    dtype = aval_of(a).dtype
    if not is_inexact(dtype):
        return reduce(a, axis=axis, keepdims=keepdims, **options)
    filled = choose_where(lax.ne(a, a), start_value(dtype, instead), a)
    result = reduce(filled, axis=axis, keepdims=keepdims, **options)
    if not nan_if_nothing_else:
        return result
    return choose_where(all(lax.ne(a, a), axis=axis, keepdims=keepdims), const_like(a, np.nan), result)


@library_jit("axis", "keepdims")
def nanmin(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Value:
    """Return the smallest element over `axis` that is not nan.

    >>> jnp.nanmin(jnp.array([3.0, jnp.nan, 1.0]))
    Array(1., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanmin.html.
    """
    return _without_nan("nanmin", min, a, np.inf, axis, keepdims, nan_if_nothing_else=initial is None, out=out,
                        initial=initial, where=where)


@library_jit("axis", "keepdims")
def nanmax(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Value:
    """Return the largest element over `axis` that is not nan.

    >>> jnp.nanmax(jnp.array([3.0, jnp.nan, 1.0]))
    Array(3., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanmax.html.
    """
    return _without_nan("nanmax", max, a, -np.inf, axis, keepdims, nan_if_nothing_else=initial is None, out=out,
                        initial=initial, where=where)


@library_jit("axis", "dtype", "keepdims")
def nansum(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, keepdims: bool = False,
           initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Value:
    """Return the sum over `axis`, with nan counted as 0.

    >>> jnp.nansum(jnp.array([3.0, jnp.nan, 1.0]))
    Array(4., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nansum.html.
    """
    return _without_nan("nansum", sum, a, 0, axis, keepdims, dtype=user_dtype(dtype, "nansum"), out=out,
                        initial=initial, where=where)


@library_jit("axis", "dtype", "keepdims")
def nanprod(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, keepdims: bool = False,
            initial: ArrayLike | None = None, where: ArrayLike | None = None) -> Value:
    """Return the product over `axis`, with nan counted as 1.

    >>> jnp.nanprod(jnp.array([3.0, jnp.nan, 2.0]))
    Array(6., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanprod.html.
    """
    return _without_nan("nanprod", prod, a, 1, axis, keepdims, dtype=user_dtype(dtype, "nanprod"), out=out,
                        initial=initial, where=where)


@library_jit("axis", "dtype", "keepdims")
def nanmean(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, keepdims: bool = False,
            where: ArrayLike | None = None) -> Value:
    """Return the mean over `axis` of the elements that are not nan.

    >>> jnp.nanmean(jnp.array([3.0, jnp.nan, 1.0]))
    Array(2., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanmean.html.
    """
    check_arraylike("nanmean", a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.nanmean is not supported.")
    if not is_inexact(aval_of(a).dtype):
        return mean(a, axis, dtype, out, keepdims, where=where)
    dtype = user_dtype(dtype, "mean") or aval_of(a).dtype
    is_number = lax.bitwise_not(lax.ne(a, a))
    count = sum(is_number, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return lax.div(nansum(a, axis, dtype=dtype, keepdims=keepdims, where=where), count)


@library_jit("axis", "dtype", "keepdims")
def nanvar(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, ddof: int = 0,
           keepdims: bool = False, where: ArrayLike | None = None) -> Value:
    """Return the variance over `axis` of the elements that are not nan.

    >>> jnp.nanvar(jnp.array([3.0, jnp.nan, 1.0]))
    Array(1., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanvar.html.
    """
    check_arraylike("nanvar", a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.nanvar is not supported.")
    computed, dtype = variance_dtypes(aval_of(a).dtype, user_dtype(dtype, "nanvar"))
    a = convert(a, computed)
    center = nanmean(a, axis, dtype=computed, keepdims=True, where=where)
    squares = squared_sizes(choose_where(lax.ne(a, a), 0, lax.sub(a, center)))
    count = sum(lax.bitwise_not(lax.ne(a, a)), axis=axis, keepdims=keepdims, where=where)
    count = count - ddof
    too_few = lax.le(count, zero_like(count))
    result = sum(squares, axis, keepdims=keepdims, where=where)
    result = choose_where(too_few, np.nan, result)
    divisor = choose_where(too_few, 1, count)
    return convert(lax.div(result, convert(divisor, result.dtype)), dtype)


@library_jit("axis", "dtype", "keepdims")
def nanstd(a: ArrayLike, axis: Axis = None, dtype: DTypeLike = None, out: None = None, ddof: int = 0,
           keepdims: bool = False, where: ArrayLike | None = None) -> Value:
    """Return the standard deviation over `axis` of the elements that are not nan.

    >>> jnp.nanstd(jnp.array([3.0, jnp.nan, 1.0]))
    Array(1., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nanstd.html.
    """
    check_arraylike("nanstd", a)
    dtype = user_dtype(dtype, "nanstd")
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.nanstd is not supported.")
    return lax.sqrt(nanvar(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where))
