"""`jax.scipy.sparse.linalg`: solvers of linear systems whose matrix is a function, on pytrees.

A solution is differentiated as one of `lax.custom_linear_solve`. Sources: JAX 0.4.35; Saad, "Iterative Methods for
Sparse Linear Systems" (2003), algorithms 9.1 and 7.7.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.trees import tree_leaves, tree_map, tree_structure
from tinytrace.missing import refused

Function = Callable[[Any], Any]
gmres = refused("jax.scipy.sparse.linalg.gmres", "use cg for symmetric matrices, bicgstab for others")


def cg(A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None,  # noqa: N803
       M: Any = None) -> tuple[Any, None]:  # noqa: N803
    """Solve `A x = b` by conjugate gradients; A, a function or a matrix, is symmetric and positive definite.

    It ends when the residual is at most max(tol * |b|, atol). M approximates the inverse of A.

    Returns: the solution, and None.  Raises: ValueError when the structures or shapes of b and x0 differ.

    >>> cg(jnp.diag(jnp.array([1.0, 2.0])), jnp.array([3.0, 4.0]))[0]
    Array([3., 2.], dtype=float32)
    """
    return _solve(_cg, A, b, x0, tol, atol, maxiter, M, symmetric=True)


def bicgstab(A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0,  # noqa: N803
             maxiter: int | None = None, M: Any = None) -> tuple[Any, None]:  # noqa: N803
    """Solve `A x = b` by stabilized bi-conjugate gradients, for any A; see `cg`.

    >>> bicgstab(lambda x: 2 * x, jnp.array([3.0, 4.0]))[0]
    Array([1.5, 2. ], dtype=float32)
    """
    return _solve(_bicgstab, A, b, x0, tol, atol, maxiter, M, symmetric=False)


def _solve(solver: Callable[..., Any], matrix: Any, b: Any, x0: Any, tol: float, atol: float, maxiter: int | None,
           preconditioner: Any, symmetric: bool) -> tuple[Any, None]:
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else x0
    if tree_structure(x0) != tree_structure(b):
        raise ValueError("x0 and b must have matching tree structure: "
                         f"{tree_structure(x0)} vs {tree_structure(b)}")
    shapes = [[np.shape(x) for x in tree_leaves(tree)] for tree in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}")
    size = sum(int(np.prod(shape)) for shape in shapes[1])
    run = partial(solver, x0=x0, tol=tol, atol=atol, maxiter=10 * size if maxiter is None else maxiter,
                  precondition=_function(preconditioner))
    return lax.custom_linear_solve(_function(matrix), b, run, transpose_solve=run, symmetric=symmetric), None


def _identity(x: Any) -> Any:
    return x


def _function(matrix: Any) -> Function:
    if matrix is None:
        return _identity
    if callable(matrix):
        return matrix  # type: ignore[no-any-return]
    if np.ndim(matrix) != 2 or np.shape(matrix)[0] != np.shape(matrix)[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {np.shape(matrix)}")
    return partial(jnp.dot, matrix)


def _dot(x: Any, y: Any) -> Any:
    return sum(jnp.vdot(a, b) for a, b in zip(tree_leaves(x), tree_leaves(y), strict=True))


def _plus(x: Any, factor: Any, y: Any) -> Any:
    """Return x + factor * y."""
    return tree_map(lambda a, b: a + factor * b, x, y)


def _cg(multiply: Function, b: Any, x0: Any, tol: float, atol: float, maxiter: int, precondition: Function) -> Any:
    limit = jnp.maximum(jnp.square(tol) * _dot(b, b), jnp.square(atol))

    def goes_on(state: Any) -> Any:
        _, r, gamma, _, k = state
        return ((gamma if precondition is _identity else _dot(r, r)) > limit) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, gamma, p, k = state
        image = multiply(p)
        alpha = gamma / _dot(p, image)
        x, r = _plus(x, alpha, p), _plus(r, -alpha, image)
        z = precondition(r)
        new_gamma = _dot(r, z)
        return x, r, new_gamma, _plus(z, new_gamma / gamma, p), k + 1

    r0 = _plus(b, -1, multiply(x0))
    z0 = precondition(r0)
    return lax.while_loop(goes_on, step, (x0, r0, _dot(r0, z0), z0, 0))[0]


def _bicgstab(multiply: Function, b: Any, x0: Any, tol: float, atol: float, maxiter: int,
              precondition: Function) -> Any:
    limit = jnp.maximum(jnp.square(tol) * _dot(b, b), jnp.square(atol))

    def goes_on(state: Any) -> Any:
        _, r, *_, k = state
        return (_dot(r, r) > limit) & (k < maxiter) & (k >= 0)

    def step(state: Any) -> Any:
        x, r, alpha, omega, rho, p, q, k = state
        new_rho = _dot(rhat, r)
        beta = new_rho / rho * alpha / omega
        p = _plus(r, beta, _plus(p, -omega, q))
        phat = precondition(p)
        q = multiply(phat)
        alpha = new_rho / _dot(rhat, q)
        s = _plus(r, -alpha, q)
        early = _dot(s, s) < limit
        shat = precondition(s)
        t = multiply(shat)
        omega = _dot(t, s) / _dot(t, t)
        half = _plus(x, alpha, phat)
        x = tree_map(partial(jnp.where, early), half, _plus(half, omega, shat))
        r = tree_map(partial(jnp.where, early), s, _plus(s, -omega, t))
        # A breakdown ends the loop: -11 and -10, as SciPy and JAX count.
        k = jnp.where((omega == 0) | (alpha == 0), -11, k + 1)
        return x, r, alpha, omega, new_rho, p, q, jnp.where(new_rho == 0, -10, k)

    r0 = rhat = _plus(b, -1, multiply(x0))
    one = jnp.ones((), jnp.result_type(*tree_leaves(b)))
    return lax.while_loop(goes_on, step, (x0, r0, one, one, one, r0, r0, 0))[0]
