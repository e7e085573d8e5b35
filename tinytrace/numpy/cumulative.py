"""Running sums and products, and differences between neighbours."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import BOOL
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.joining import concatenate
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    DTypeLike,
    Value,
    broadcast_to,
    canonicalize_axes,
    canonicalize_axis,
    check_arraylike,
    convert,
    promote_dtypes_inexact,
    user_dtype,
)
from tinytrace.numpy.reductions import wide_integer
from tinytrace.numpy.shapes import moveaxis, ravel
from tinytrace.primitives.elementwise import const_like


def _cumulate(name: str, cumulate: Callable[..., Value], a: Any, axis: int | None, dtype: Any, out: None,
              fill_nan: float | None = None, promote_integers: bool = False) -> Value:
    check_arraylike(name, a)
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported")
    dtype = user_dtype(dtype, name)
    if axis is None or np.ndim(a) == 0:
        a = lax.reshape(a, (np.size(a),))
        axis = 0 if axis is None else axis
    axis = canonicalize_axis(axis, np.ndim(a))
    if fill_nan is not None:
        a = choose_where(lax.ne(a, a), const_like(a, fill_nan), a)
    result_type = dtype or aval_of(a).dtype
    if (promote_integers and dtype is None) or result_type == BOOL:
        result_type = wide_integer(result_type)
    if dtype == BOOL:
        a = convert(a, BOOL)
    result = cumulate(convert(a, result_type), axis)
    return convert(result, BOOL) if dtype == BOOL else result


@library_jit("axis", "dtype")
def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Value:
    """Return the running sums along `axis`, of the flattened array when None.

    >>> jnp.cumsum(jnp.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.cumsum.html.
    """
    return _cumulate("cumsum", lax.cumsum, a, axis, dtype, out)


@library_jit("axis", "dtype")
def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Value:
    """Return the running products along `axis`, of the flattened array when None.

    >>> jnp.cumprod(jnp.array([1, 2, 3]))
    Array([1, 2, 6], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.cumprod.html.
    """
    return _cumulate("cumprod", lax.cumprod, a, axis, dtype, out)


@library_jit("axis", "dtype")
def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Value:
    """Return `cumsum`, with nan counted as 0.

    >>> jnp.nancumsum(jnp.array([1.0, jnp.nan, 3.0]))
    Array([1., 1., 4.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nancumsum.html.
    """
    return _cumulate("nancumsum", lax.cumsum, a, axis, dtype, out, fill_nan=0)


@library_jit("axis", "dtype")
def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Value:
    """Return `cumprod`, with nan counted as 1.

    >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
    Array([2., 2., 6.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nancumprod.html.
    """
    return _cumulate("nancumprod", lax.cumprod, a, axis, dtype, out, fill_nan=1)


@library_jit("axis", "dtype")
def _cumsum_with_promotion(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Value:
    return _cumulate("_cumsum_with_promotion", lax.cumsum, a, axis, dtype, out, promote_integers=True)


@library_jit("axis", "dtype")
def _cumprod_with_promotion(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Value:
    return _cumulate("_cumprod_with_promotion", lax.cumprod, a, axis, dtype, out, promote_integers=True)


def cumulative_sum(x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike = None,
                   include_initial: bool = False) -> Value:
    """Return the running sums along `axis`, which must be given for more than one dimension; from 0 on if asked.

    >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.cumulative_sum.html.
    """
    return _cumulative("sum", _cumsum_with_promotion, 0, x, axis, dtype, include_initial)


def cumulative_prod(x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike = None,
                    include_initial: bool = False) -> Value:
    """Return the running products along `axis`, which must be given for more than one dimension; from 1 on if asked.

    >>> jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True)
    Array([1, 1, 2, 6], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.cumulative_prod.html.
    """
    return _cumulative("prod", _cumprod_with_promotion, 1, x, axis, dtype, include_initial)


def _cumulative(name: str, cumulate: Callable[..., Any], initial: int, x: ArrayLike, axis: int | None, dtype: DTypeLike,
                include_initial: bool) -> Value:
    check_arraylike(f"cumulative_{name}", x)
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError(f"The input must be non-scalar to take a cumulative {_OF[name]}, however a scalar value or "
                         "scalar array was given.")
    if axis is None and x.ndim > 1:
        raise ValueError(f"The input array has rank {x.ndim}, however axis was not set to an explicit value. The axis "
                         "argument is only optional for one-dimensional arrays.")
    axis = canonicalize_axis(axis or 0, x.ndim)
    out = cumulate(x, axis=axis, dtype=user_dtype(dtype, f"cumulative_{name}"))
    if not include_initial:
        return out
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1:])
    return lax.concatenate([lax.full(shape, initial, dtype=out.dtype), out], axis)


_OF = {"sum": "sum", "prod": "product"}


# --- differences -----------------------------------------------------------------------------------------------

@library_jit("n", "axis")
def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None,
         append: ArrayLike | None = None) -> Value:
    """Return the differences of neighbours along `axis`, taken `n` times.

    >>> jnp.diff(jnp.array([1, 3, 6]))
    Array([2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.diff.html.
    """
    check_arraylike("diff", a)
    arr = asarray(a)
    n, axis = operator.index(n), operator.index(axis)
    if n == 0:
        return arr
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if arr.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    axis = canonicalize_axis(axis, arr.ndim)
    parts = [_one_layer(part, arr.shape, axis) for part in (prepend,) if part is not None] + [arr]
    parts += [_one_layer(part, arr.shape, axis) for part in (append,) if part is not None]
    if len(parts) > 1:
        arr = concatenate(parts, axis)
    later = (slice(None),) * axis + (slice(1, None),) + (slice(None),) * (arr.ndim - axis - 1)
    earlier = (slice(None),) * axis + (slice(None, -1),) + (slice(None),) * (arr.ndim - axis - 1)
    subtract = operator.ne if arr.dtype == BOOL else operator.sub
    for _ in range(n):
        arr = subtract(arr[later], arr[earlier])
    return arr


def _one_layer(x: Any, shape: tuple[int, ...], axis: int) -> Value:
    check_arraylike("diff", x)
    return asarray(x if np.ndim(x) else broadcast_to(x, (*shape[:axis], 1, *shape[axis + 1:])))


@library_jit()
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Value:
    """Return the differences of neighbours of the flattened array.

    >>> jnp.ediff1d(jnp.array([1, 3, 6]))
    Array([2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.ediff1d.html.
    """
    check_arraylike("ediff1d", ary)
    arr = ravel(ary)
    result = lax.sub(arr[1:], arr[:-1])
    if to_begin is not None:
        check_arraylike("ediff1d", to_begin)
        result = concatenate((ravel(asarray(to_begin, dtype=arr.dtype)), result))
    if to_end is not None:
        check_arraylike("ediff1d", to_end)
        result = concatenate((result, ravel(asarray(to_end, dtype=arr.dtype))))
    return result


@library_jit("axis", "edge_order")
def gradient(f: ArrayLike, *varargs: ArrayLike, axis: Any = None, edge_order: int | None = None) -> Any:
    """Return the slope along each axis: central differences inside, one-sided at the edges.

    varargs: the distance between neighbours, one for all axes or one per axis, or coordinates f32[n] per axis.

    >>> jnp.gradient(jnp.array([1.0, 2.0, 4.0]))
    Array([1. , 1.5, 2. ], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.gradient.html.
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    a, *spacing = promote_dtypes_inexact(f, *varargs)
    axes = tuple(range(a.ndim)) if axis is None else canonicalize_axes(
        axis if isinstance(axis, (tuple, list)) else (axis,), a.ndim)
    if not axes:
        return []
    if min(a.shape[i] for i in axes) < 2:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least 2 elements are "
                         "required.")
    if len(spacing) not in (0, 1, len(axes)):
        raise TypeError(f"Invalid number of spacing arguments {len(spacing)} for axis={axis!r}")
    steps = spacing * len(axes) if len(spacing) == 1 else spacing or [1.0] * len(axes)
    slopes = [_slope(a, h, i) for i, h in zip(axes, steps, strict=True)]
    return slopes[0] if len(axes) == 1 else slopes


def _slope(a: Value, h: Any, axis: int) -> Value:
    def sliced(start: int, stop: int | None, x: Value = a) -> Value:
        return lax.slice_in_dim(x, start, stop, axis=axis)

    upper = sliced(1, 2) - sliced(0, 1)
    lower = sliced(-1, None) - sliced(-2, -1)
    if np.ndim(h) == 0:
        inner = (sliced(2, None) - sliced(None, -2)) * 0.5 / h  # type: ignore[arg-type]
        lower, upper = lower / h, upper / h
        return concatenate((upper, inner, lower), axis=axis)
    if np.ndim(h) != 1:
        raise ValueError("Spacing arrays must be 1D arrays or scalars.")
    if len(h) != a.shape[axis]:
        raise ValueError("Spacing arrays must have the same length as the dimension along which the gradient is "
                         "calculated.")
    h = h.reshape([len(h) if i == axis else 1 for i in range(a.ndim)])
    upper = upper / (sliced(1, 2, h) - sliced(0, 1, h))
    lower = lower / (sliced(-1, None, h) - sliced(-2, -1, h))
    dx1 = sliced(1, -1, h) - sliced(0, -2, h)
    dx2 = sliced(2, None, h) - sliced(1, -1, h)
    before = -dx2 / (dx1 * (dx1 + dx2))
    here = (dx2 - dx1) / (dx1 * dx2)
    after = dx1 / (dx2 * (dx1 + dx2))
    inner = before * sliced(0, -2) + here * sliced(1, -1) + after * sliced(2, None)
    return concatenate((upper, inner, lower), axis=axis)


@library_jit("axis")
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Value:
    """Return the integral of `y` along `axis` by the trapezoidal rule.

    >>> jnp.trapezoid(jnp.array([1.0, 2.0, 3.0]))
    Array(4., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.trapezoid.html.
    """
    if x is None:
        check_arraylike("trapezoid", y)
        y, = promote_dtypes_inexact(y)
        step = asarray(dx)
    else:
        check_arraylike("trapezoid", y, x)
        y, x = promote_dtypes_inexact(y, x)
        step = diff(x) if x.ndim == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    y = moveaxis(y, axis, -1)
    return 0.5 * (step * (y[..., 1:] + y[..., :-1])).sum(-1)

