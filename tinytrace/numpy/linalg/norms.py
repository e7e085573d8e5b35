"""Norms of vectors and matrices, and the condition number."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.numpy.arithmetic import abs
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.classification import conj, isnan, real
from tinytrace.numpy.exponential import sqrt
from tinytrace.numpy.linalg.factorizations import svd, svdvals
from tinytrace.numpy.linalg.systems import inv
from tinytrace.numpy.powers import power
from tinytrace.numpy.promotion import ArrayLike, Value, canonicalize_axis, check_arraylike, promote_dtypes_inexact
from tinytrace.numpy.reductions import amax, amin, sum
from tinytrace.numpy.scalar_types import finfo
from tinytrace.numpy.searching import where
from tinytrace.numpy.shapes import expand_dims, moveaxis, ravel
from tinytrace.primitives.elementwise import const_like

inf = math.inf


@library_jit("ord", "axis", "keepdims")
def norm(x: ArrayLike, ord: int | float | str | None = None, axis: int | tuple[int, ...] | None = None,
         keepdims: bool = False) -> Value:
    """Return the norm of the vectors along `axis`, or of the matrices in two axes.

    ord: for vectors any number, 2 by default, inf and 0 (how many are not 0) too; for matrices None or "fro", "nuc",
    1, -1, 2, -2, inf, -inf.

    >>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
    Array(5., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.norm.html.
    """
    check_arraylike("jnp.linalg.norm", x)
    x, = promote_dtypes_inexact(asarray(x))
    ndim = np.ndim(x)
    if axis is None and ord is None:
        return _root_of_squares(x, None, keepdims)
    if axis is None:
        axes = tuple(range(ndim))
    else:
        axes = tuple(canonicalize_axis(i, ndim) for i in (axis if isinstance(axis, tuple) else (axis,)))
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(f"Invalid axis values ({axes}) for jnp.linalg.norm.")


def _root_of_squares(x: Value, axis: Any, keepdims: bool) -> Value:
    return sqrt(sum(real(x * conj(x)), axis=axis, keepdims=keepdims))


def _vector_norm(x: Value, ord: Any, axis: tuple[int, ...], keepdims: bool) -> Value:
    if ord is None or ord == 2:
        return _root_of_squares(x, axis, keepdims)
    if ord in (inf, -inf):
        return (amax if ord == inf else amin)(abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return sum(x != 0, dtype=finfo(x.dtype).dtype, axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum(abs(x), axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        hint = {"inf": "Use 'jax.numpy.inf' instead.", "-inf": "Use '-jax.numpy.inf' instead."}.get(ord, "")
        raise ValueError(f"Invalid order '{ord}' for vector norm.{hint}")
    size = abs(x)
    exponent = const_like(size, ord)
    inverse = const_like(size, 1.0 / exponent)
    return power(sum(size ** exponent, axis=axis, keepdims=keepdims), inverse)


def _matrix_norm(x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Value:
    row, column = axes
    if ord is None or ord in ("f", "fro"):
        return _root_of_squares(x, axes, keepdims)
    if ord in (1, -1, inf, -inf):
        extreme = amax if ord in (1, inf) else amin
        summed, rest = (row, column) if ord in (1, -1) else (column, row)
        rest -= not keepdims and rest > summed
        return extreme(sum(abs(x), axis=summed, keepdims=keepdims), axis=rest, keepdims=keepdims)
    reducers: dict[Any, Callable[..., Value]] = {2: amax, -2: amin, "nuc": sum}
    if ord not in reducers:
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    values = svd(moveaxis(x, axes, (-2, -1)), compute_uv=False)
    result = reducers[ord](values, axis=-1)
    return expand_dims(result, axes) if keepdims else result


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: int | float | str = "fro") -> Value:
    """Return the norm of the matrices in the last two axes.

    >>> jnp.linalg.matrix_norm(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
    Array(5., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.matrix_norm.html.
    """
    check_arraylike("jnp.linalg.matrix_norm", x)
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


def vector_norm(x: ArrayLike, /, *, axis: int | None = None, keepdims: bool = False, ord: int | float | str = 2
                ) -> Value:
    """Return the norm of the vectors along `axis`, of all elements when None.

    >>> jnp.linalg.vector_norm(jnp.array([3.0, 4.0]))
    Array(5., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.vector_norm.html.
    """
    check_arraylike("jnp.linalg.vector_norm", x)
    if axis is not None:
        return norm(x, axis=axis, keepdims=keepdims, ord=ord)
    result = norm(ravel(x), ord=ord)
    return lax.expand_dims(result, range(np.ndim(x))) if keepdims else result


@library_jit("p")
def cond(x: ArrayLike, p: int | float | str | None = None) -> Value:
    """Return the condition number, by the norm of order `p`: how much a system of equations enlarges errors.

    >>> jnp.linalg.cond(jnp.array([[1.0, 0.0], [0.0, 4.0]]))
    Array(4., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.cond.html.
    """
    check_arraylike("cond", x)
    arr = asarray(x)
    if arr.ndim < 2:
        raise ValueError(f"jnp.linalg.cond: input array must be at least 2D; got {arr.shape=}")
    if arr.shape[-1] == 0 or arr.shape[-2] == 0:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got {arr.shape=}")
    if p is None or p == 2:
        s = svdvals(x)
        return s[..., 0] / s[..., -1]
    if p == -2:
        s = svdvals(x)
        r = s[..., -1] / s[..., 0]
    else:
        if arr.shape[-2] != arr.shape[-1]:
            raise ValueError(f"jnp.linalg.cond: for {p=}, array must be square; got {arr.shape=}")
        r = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    return where(isnan(r) & ~isnan(x).any(axis=(-2, -1)), inf, r)
