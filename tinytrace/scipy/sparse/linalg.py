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
from tinytrace.core.dtypes import is_complex
from tinytrace.core.trees import tree_leaves, tree_map, tree_structure
from tinytrace.scipy.sparse.gmres import gmres as gmres
from tinytrace.scipy.sparse.vectors import Function, dot, identity, operator, plus, real_dot, typed_like


def cg(A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None,  # noqa: N803
       M: Any = None) -> tuple[Any, None]:  # noqa: N803
    """Solve `A x = b` by conjugate gradients; A, a function or a matrix, is hermitian and positive definite.

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
    b = tree_map(jnp.asarray, b)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else tree_map(jnp.asarray, x0)
    if tree_structure(x0) != tree_structure(b):
        raise ValueError("x0 and b must have matching tree structure: "
                         f"{tree_structure(x0)} vs {tree_structure(b)}")
    shapes = [[np.shape(x) for x in tree_leaves(tree)] for tree in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}")
    size = sum(int(np.prod(shape)) for shape in shapes[1])
    run = partial(solver, x0=x0, tol=tol, atol=atol, maxiter=10 * size if maxiter is None else maxiter,
                  precondition=operator(preconditioner))
    symmetric = symmetric and not any(is_complex(x.dtype) for x in tree_leaves(b))  # hermitian is something else
    return lax.custom_linear_solve(operator(matrix), b, run, transpose_solve=run, symmetric=symmetric), None


def _cg(multiply: Function, b: Any, x0: Any, tol: float, atol: float, maxiter: int, precondition: Function) -> Any:
    limit = jnp.maximum(jnp.square(tol) * real_dot(b, b), jnp.square(atol))

    def goes_on(state: Any) -> Any:
        _, r, gamma, _, k = state
        return ((gamma.real if precondition is identity else real_dot(r, r)) > limit) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, gamma, p, k = state
        image = multiply(p)
        alpha = gamma / real_dot(p, image).astype(dtype)
        x, r = plus(x, alpha, p), plus(r, -alpha, image)
        z = precondition(r)
        new_gamma = real_dot(r, z).astype(dtype)
        return x, r, new_gamma, plus(z, new_gamma / gamma, p), k + 1

    r0 = plus(b, -1, multiply(x0))
    z0 = precondition(r0)
    dtype = jnp.result_type(*tree_leaves(z0))
    return lax.while_loop(goes_on, step, (x0, r0, real_dot(r0, z0).astype(dtype), z0, 0))[0]


def _bicgstab(multiply: Function, b: Any, x0: Any, tol: float, atol: float, maxiter: int,
              precondition: Function) -> Any:
    limit = jnp.maximum(jnp.square(tol) * real_dot(b, b), jnp.square(atol))

    def goes_on(state: Any) -> Any:
        _, r, *_, k = state
        return (real_dot(r, r) > limit) & (k < maxiter) & (k >= 0)

    def step(state: Any) -> Any:
        x, r, alpha, omega, rho, p, q, k = state
        new_rho = dot(rhat, r)
        beta = new_rho / rho * alpha / omega
        p = plus(r, beta, plus(p, -omega, q))
        phat = precondition(p)
        q = multiply(phat)
        alpha = new_rho / dot(rhat, q)
        s = plus(r, -alpha, q)
        early = real_dot(s, s) < limit
        shat = precondition(s)
        t = multiply(shat)
        omega = dot(t, s) / dot(t, t)
        half = plus(x, alpha, phat)
        x = tree_map(partial(jnp.where, early), half, plus(half, omega, shat))
        r = tree_map(partial(jnp.where, early), s, plus(s, -omega, t))
        # A breakdown ends the loop: -11 and -10, as SciPy and JAX count.
        k = jnp.where((omega == 0) | (alpha == 0), -11, k + 1)
        return x, r, alpha, omega, new_rho, p, q, jnp.where(new_rho == 0, -10, k)

    r0 = rhat = plus(b, -1, multiply(x0))
    one = jnp.ones((), jnp.result_type(*tree_leaves(b)))
    return typed_like(lax.while_loop(goes_on, step, (x0, r0, one, one, one, r0, r0, 0))[0], b)
