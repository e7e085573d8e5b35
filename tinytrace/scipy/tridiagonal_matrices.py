"""Eigenvalues of symmetric tridiagonal matrices, by bisection: a Sturm sequence counts those below a number.

Source: Barth, Martin and Wilkinson, "Calculation of the eigenvalues of a symmetric tridiagonal matrix by the method of
bisection" (1967).
"""
from __future__ import annotations

from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.dtypes import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, is_complex
from tinytrace.numpy.promotion import ArrayLike, Value

__all__ = ["eigh_tridiagonal"]
_FUDGE = 2.1
_AT_ONCE = 16


@library_jit("eigvals_only", "select", "select_range")
def eigh_tridiagonal(d: ArrayLike, e: ArrayLike, *, eigvals_only: bool = False, select: str = "a",
                     select_range: tuple[float, float] | None = None, tol: float | None = None) -> Value:
    """Return the eigenvalues of the symmetric matrix with diagonal d: f32[n] and e: f32[n - 1] beside it, in order.

    select: "a" for all, "i" for those with indices in `select_range`, both ends included.  tol: of each, absolutely.
    Raises: NotImplementedError unless `eigvals_only`, and for select="v"; TypeError for other types than floats.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.eigh_tridiagonal.html.

    >>> jax.scipy.linalg.eigh_tridiagonal(jnp.zeros(2), jnp.ones(1), eigvals_only=True).round(4)
    Array([-1.,  1.], dtype=float32)
    """
    if not eigvals_only:
        raise NotImplementedError("Calculation of eigenvectors is not implemented")
    alpha, beta = jnp.asarray(d), jnp.asarray(e)
    _check_types(alpha.dtype, beta.dtype)
    if alpha.shape[0] <= 1:
        return jnp.real(alpha)
    if is_complex(alpha.dtype):
        alpha = jnp.real(alpha)
        squares = jnp.real(beta * jnp.conj(beta))
        sizes = jnp.sqrt(squares)
    else:
        sizes = jnp.abs(beta)
        squares = jnp.square(beta)
    around = jnp.concatenate([sizes[:1], sizes[:-1] + sizes[1:], sizes[-1:]], axis=0)  # Gershgorin's radii
    highest = jnp.amax(alpha + around)
    lowest = jnp.amin(alpha - around)
    norm = jnp.maximum(jnp.abs(lowest), jnp.abs(highest))
    info = np.finfo(alpha.dtype)
    one = np.ones([], dtype=alpha.dtype)
    smallest = np.maximum(one / info.max, (one + info.eps) * info.tiny)
    pivot = smallest * jnp.maximum(1, jnp.amax(squares))
    first = jnp.square(info.eps * sizes[0])
    enough = info.eps * norm
    if tol is not None:
        enough = jnp.maximum(tol, enough)
    targets = _targets(alpha.shape[0], select, select_range)
    slack = jnp.array(alpha.shape[0], alpha.dtype) * _FUDGE * info.eps * norm
    lower = lowest - slack - 2 * _FUDGE * pivot
    upper = highest + slack + _FUDGE * pivot
    shape = jnp.shape(targets)
    lower, upper = jnp.broadcast_to(lower, shape=shape), jnp.broadcast_to(upper, shape=shape)
    middle = 0.5 * (upper + lower)
    pivot, first = jnp.broadcast_to(pivot, shape), jnp.broadcast_to(first, shape)

    def is_wide(state: Any) -> Any:
        i, lower, _, upper = state
        return jnp.logical_and(jnp.less(i, info.nmant + 1), jnp.less(enough, jnp.amax(upper - lower)))

    def halved(state: Any) -> Any:
        i, lower, middle, upper = state
        counts = _counts(alpha, squares, pivot, first, middle)
        lower = jnp.where(counts <= targets, middle, lower)
        upper = jnp.where(counts > targets, middle, upper)
        middle = 0.5 * (lower + upper)
        return i + 1, lower, middle, upper

    return lax.while_loop(is_wide, halved, (0, lower, middle, upper))[2]


def _check_types(alpha: Any, beta: Any) -> None:
    if alpha != beta:
        raise TypeError(f"diagonal and off-diagonal values must have same dtype, got {alpha} and {beta}")
    if alpha not in (FLOAT32, FLOAT64, COMPLEX64, COMPLEX128):
        raise TypeError("Only float32 and float64 inputs are supported as inputs to "
                        f"jax.scipy.linalg.eigh_tridiagonal, got {alpha} and {beta}")


def _targets(n: int, select: str, bounds: Any) -> Value:
    """Return the indices of the eigenvalues that are asked for."""
    if select == "a":
        return jnp.arange(n, dtype=jnp.int32)
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    if select != "i":
        raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
    if bounds is None:
        raise ValueError("for select='i', select_range must be specified.")
    if bounds[0] > bounds[1]:
        raise ValueError("Got empty index range in select_range.")
    return jnp.arange(bounds[0], bounds[1] + 1, dtype=jnp.int32)


def _counts(alpha: Any, squares: Any, pivot: Any, first: Any, x: Any) -> Any:
    """Return how many eigenvalues are below each element of x."""
    n = alpha.shape[0]
    zeros, ones = jnp.zeros(x.shape, dtype=jnp.int32), jnp.ones(x.shape, dtype=jnp.int32)
    q = alpha[0] - x
    count = jnp.where(q < 0, ones, zeros)
    q = jnp.where(alpha[0] == x, first, q)

    def steps(number: int, state: Any) -> Any:
        start, q, count = state
        for k in range(number):
            i = start + k
            q = alpha[i] - squares[i - 1] / q - x
            count = jnp.where(q <= pivot, count + 1, count)
            q = jnp.where(q <= pivot, jnp.minimum(q, -pivot), q)
        return start + number, q, count

    state = steps((n - 1) % _AT_ONCE, (1, q, count))
    return lax.while_loop(lambda state: jnp.less(state[0], n), lambda state: steps(_AT_ONCE, state), state)[2]
