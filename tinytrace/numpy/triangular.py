"""Diagonals and triangles of matrices."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.array import array_of_own
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT32, INT32
from tinytrace.core.trace import is_eager
from tinytrace.numpy.array_creation import ones, zeros, zeros_like
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    DTypeLike,
    Value,
    canonicalize_axis,
    check_arraylike,
    concrete_index,
    int_dtype,
    shape_tuple,
    user_dtype,
)
from tinytrace.numpy.ranges import arange, eye
from tinytrace.numpy.reductions import sum as reduce_sum
from tinytrace.numpy.searching import nonzero
from tinytrace.numpy.shapes import moveaxis, ravel


@remembered("N", "M", "k", "dtype")
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = None) -> Value:
    """Return f32[N, M] that is 1 at and below diagonal `k`.

    >>> jnp.tri(2)
    Array([[1., 0.],
           [1., 1.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.tri.html.
    """
    dtype = user_dtype(dtype, "tri") or FLOAT32
    k = concrete_index(k, "argument `offset` of jax.numpy.tri")
    shape = shape_tuple((N, N if M is None else M))
    rows = lax.add(lax.broadcasted_iota(INT32, shape, 0), np.array(max(-shape[0], min(k, shape[1])), INT32))
    return lax.convert_element_type(lax.ge(rows, lax.broadcasted_iota(INT32, shape, 1)), dtype)


@library_jit("k")
def tril(m: ArrayLike, k: int = 0) -> Value:
    """Return the matrices `m: f32[..., n, m]` with zeros above diagonal `k`.

    >>> jnp.tril(jnp.ones((2, 2)))
    Array([[1., 0.],
           [1., 1.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.tril.html.
    """
    check_arraylike("tril", m)
    mask = _triangle(m, "tril", k)
    return lax.select(mask, m, zeros_like(m))


@library_jit("k")
def triu(m: ArrayLike, k: int = 0) -> Value:
    """Return the matrices `m: f32[..., n, m]` with zeros below diagonal `k`.

    >>> jnp.triu(jnp.ones((2, 2)))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.triu.html.
    """
    check_arraylike("triu", m)
    mask = _triangle(m, "triu", k - 1)
    return lax.select(mask, zeros_like(m), m)


def _triangle(m: Any, function: str, k: int) -> Value:
    shape = np.shape(m)
    if len(shape) < 2:
        raise ValueError(f"Argument to jax.numpy.{function} must be at least 2D")
    return lax.broadcast(tri(shape[-2], shape[-1], k, bool), shape[:-2])


@library_jit("axis1", "axis2", "dtype")
def trace(a: ArrayLike, offset: ArrayLike = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None,
          out: None = None) -> Value:
    """Return the sum of the diagonal.

    >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.trace.html.
    """
    check_arraylike("trace", a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.trace is not supported.")
    shape = np.shape(a)
    if canonicalize_axis(axis1, len(shape)) == canonicalize_axis(axis2, len(shape)):
        raise ValueError(f"axis1 and axis2 can not be same. axis1={axis1} and axis2={axis2}")
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    a = choose_where(eye(shape[axis1], shape[axis2], k=offset, dtype=bool), a, zeros_like(a))
    return reduce_sum(a, axis=(-2, -1), dtype=user_dtype(dtype, "trace"))


@library_jit("offset", "axis1", "axis2")
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """Return the elements of a diagonal of the planes of two axes.

    >>> jnp.diagonal(jnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.diagonal.html.
    """
    check_arraylike("diagonal", a)
    shape = np.shape(a)
    if len(shape) < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    offset = concrete_index(offset, "'offset' argument of jnp.diagonal()")
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    size = max(0, min(shape[axis1] + min(offset, 0), shape[axis2] - max(offset, 0)))
    i, j = arange(size), arange(abs(offset), abs(offset) + size)
    return a[..., i, j] if offset >= 0 else a[..., j, i]


@remembered("k")
def diag(v: ArrayLike, k: int = 0) -> Value:
    """Return the matrix with `v: f32[n]` on diagonal `k`, or that diagonal of a matrix.

    >>> jnp.diag(jnp.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.diag.html.
    """
    return _diag(v, operator.index(k))


@library_jit("k")
def _diag(v: ArrayLike, k: int) -> Value:
    check_arraylike("diag", v)
    shape = np.shape(v)
    if len(shape) == 2:
        return diagonal(v, offset=k)
    if len(shape) != 1:
        raise ValueError("diag input must be 1d or 2d")
    v = lax.pad(v, lax.full_like(v, 0, shape=()), ((max(0, k), max(0, -k), 0),))
    return choose_where(eye(shape[0] + abs(k), k=k, dtype=bool), v, zeros_like(v))


@remembered("k")
def diagflat(v: ArrayLike, k: int = 0) -> Value:
    """Return the matrix with the elements of `v` on diagonal `k`.

    >>> jnp.diagflat(jnp.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.diagflat.html.
    """
    check_arraylike("diagflat", v)
    flat = ravel(v)
    n = len(flat) + abs(k)
    result = zeros(n * n, dtype=flat.dtype)
    i = arange(0, n - abs(k))
    places = i + k + i * n if k >= 0 else i + (i - k) * n
    return result.at[places].set(flat).reshape(n, n)


# --- indices ---------------------------------------------------------------------------------------------------

def mask_indices(n: int, mask_func: Callable[[Any, int], Value], k: int = 0, *,
                 size: int | None = None) -> tuple[Value, Value]:
    """Return the indices of the elements of f32[n, n] that a function such as `triu` keeps.

    >>> jnp.mask_indices(2, jnp.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.mask_indices.html.
    """
    i, j = nonzero(mask_func(ones((n, n)), k), size=size)
    return i, j


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Value, Value]:
    """Return the indices of the elements of f32[n, m] at and above diagonal `k`.

    >>> jnp.triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.triu_indices.html.
    """
    n, k, m = _static_sizes("triu_indices", n, k, m)
    if is_eager() and min(n, m) >= 0:
        return _as_indices(np.triu_indices(n, k, m))
    i, j = nonzero(triu(ones((n, m)), k=k), size=_triangle_size(n, m, k))
    return i, j


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Value, Value]:
    """Return the indices of the elements of f32[n, m] at and below diagonal `k`.

    >>> jnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.tril_indices.html.
    """
    n, k, m = _static_sizes("triu_indices", n, k, m)
    if is_eager() and min(n, m) >= 0:
        return _as_indices(np.tril_indices(n, k, m))
    i, j = nonzero(tril(ones((n, m)), k=k), size=_triangle_size(m, n, -k))
    return i, j


def _as_indices(found: tuple[Any, Any]) -> tuple[Value, Value]:
    i, j = (array_of_own(x.astype(int_dtype()), ShapedArray(x.shape, int_dtype())) for x in found)
    return i, j


def _static_sizes(function: str, n: Any, k: Any, m: Any) -> tuple[int, int, int]:
    n = concrete_index(n, f"n argument of jnp.{function}")
    k = concrete_index(k, f"k argument of jnp.{function}")
    return n, k, n if m is None else concrete_index(m, f"m argument of jnp.{function}")


def _triangle_size(n: int, m: int, k: int) -> int:
    """Count the elements of an n by m matrix at and above diagonal `k`."""
    return sum(max(0, m - max(0, i + k)) for i in range(n))


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Value, Value]:
    """Return `triu_indices` for a matrix of the shape of `arr`.

    >>> jnp.triu_indices_from(jnp.ones((2, 2)))
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.triu_indices_from.html.
    """
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k=k, m=columns)


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Value, Value]:
    """Return `tril_indices` for a matrix of the shape of `arr`.

    >>> jnp.tril_indices_from(jnp.ones((2, 2)))
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.tril_indices_from.html.
    """
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k=k, m=columns)


def _matrix_shape(arr: Any) -> tuple[int, int]:
    shape = np.shape(arr)
    if len(shape) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return shape[0], shape[1]


def diag_indices(n: int, ndim: int = 2) -> tuple[Value, ...]:
    """Return the indices of the diagonal of an array of `ndim` dimensions of size `n`.

    >>> jnp.diag_indices(2)
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.diag_indices.html.
    """
    n = concrete_index(n, "'n' argument of jnp.diag_indices()")
    ndim = concrete_index(ndim, "'ndim' argument of jnp.diag_indices()")
    for name, value in (("n", n), ("ndim", ndim)):
        if value < 0:
            raise ValueError(f"{name} argument to diag_indices must be nonnegative, got {value}")
    return (arange(n),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Value, ...]:
    """Return `diag_indices` for an array of the shape of `arr`.

    >>> jnp.diag_indices_from(jnp.ones((2, 2)))
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.diag_indices_from.html.
    """
    check_arraylike("diag_indices_from", arr)
    shape = np.shape(arr)
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(shape[0], ndim=len(shape))

