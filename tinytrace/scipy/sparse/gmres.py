"""Generalized minimal residuals: the solution in a Krylov space, which grows step by step and begins anew.

Source: Saad, "Iterative Methods for Sparse Linear Systems" (2003), algorithm 6.9; defaults as in JAX 0.4.35.
"""
from __future__ import annotations

from functools import partial
from typing import Any

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.trees import tree_leaves, tree_map, tree_structure
from tinytrace.scipy import linalg
from tinytrace.scipy.sparse.vectors import Function, norm, operator, plus, typed_like


def gmres(A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, restart: int = 20,  # noqa: N803
          maxiter: int | None = None, M: Any = None, solve_method: str = "batched") -> tuple[Any, Any]:  # noqa: N803
    """Solve `A x = b` for any A, a function or a matrix, on pytrees.

    It ends when the residual is at most max(tol * |b|, atol), or when a space of dimension `restart` was built
    `maxiter` times. M approximates the inverse of A. solve_method: "incremental" ends within a space too.

    Returns: the solution, and 0, or -1 if that holds NaN.
    Raises: ValueError when the structures of b and x0 differ, and for another method.

    >>> gmres(lambda x: 2 * x, jnp.array([3.0, 4.0]))[0]
    Array([1.5, 2. ], dtype=float32)
    """
    b = tree_map(jnp.asarray, b)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else tree_map(jnp.asarray, x0)
    if tree_structure(x0) != tree_structure(b):
        raise ValueError(f"x0 and b must have matching tree structure: {tree_structure(x0)} vs {tree_structure(b)}")
    if solve_method not in ("incremental", "batched"):
        raise ValueError(f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'")
    size = sum(x.size for x in tree_leaves(b))
    precondition = operator(M)
    limit = jnp.maximum(tol * norm(b), atol)
    inner_limit = norm(precondition(b)) * jnp.minimum(1.0, limit / norm(b))
    run = partial(_solve, x0=x0, limit=limit, restart=min(restart, size), precondition=precondition,
                  maxiter=10 * size if maxiter is None else maxiter,
                  inner_limit=inner_limit if solve_method == "incremental" else 0.0)
    x = lax.custom_linear_solve(operator(A), b, run, transpose_solve=run)
    return x, jnp.where(jnp.isnan(norm(x)), -1, 0)


def _solve(multiply: Function, b: Any, x0: Any, limit: Any, inner_limit: Any, restart: int, maxiter: int,
           precondition: Function) -> Any:
    def residual_of(x: Any) -> tuple[Any, Any]:
        return _normalized(precondition(plus(b, -1, multiply(x))))

    def step(state: Any) -> Any:
        x, residual, length, k = state
        basis, images = _krylov_space(lambda v: precondition(multiply(v)), residual, length, inner_limit, restart)
        wanted = jnp.zeros(restart + 1, images.dtype).at[0].set(length.astype(images.dtype))
        y = _least_squares(images, wanted)
        x = tree_map(lambda start, v: start + jnp.dot(v[..., :-1], y), x, basis)
        return (x, *residual_of(x), k + 1)

    begin = x0, *residual_of(x0), 0
    return typed_like(lax.while_loop(lambda state: (state[3] < maxiter) & (state[2] > limit), step, begin)[0], b)


def _krylov_space(multiply: Function, first: Any, length: Any, limit: Any, restart: int) -> tuple[Any, Any]:
    """Return an orthonormal basis, as the last axis of each leaf, and H: [restart + 1, restart] with A V_k = V H.

    Columns that were not reached are zero.
    """
    dtype = jnp.result_type(*tree_leaves(first))
    basis = tree_map(lambda x: jnp.zeros((*x.shape, restart + 1), x.dtype).at[..., 0].set(x), first)

    def step(state: Any) -> Any:
        basis, images, k, _ = state
        v = multiply(tree_map(lambda x: x[..., k], basis))
        tolerance = norm(v) * jnp.finfo(dtype).eps
        column = jnp.zeros(restart + 1, dtype)
        for _ in range(2):  # twice is enough
            along = sum(jnp.einsum("...n,...->n", x.conj(), y) for x, y in zip(tree_leaves(basis), tree_leaves(v),
                                                                              strict=True))
            v = tree_map(lambda x, y, along=along: y - jnp.dot(x, along), basis, v)
            column = column + along
        v, left = _normalized(v, tolerance)
        basis = tree_map(lambda x, y: x.at[..., k + 1].set(y), basis, v)
        images = images.at[:, k].set(column.at[k + 1].set(left.astype(dtype)))
        wanted = jnp.zeros(restart + 1, dtype).at[0].set(length.astype(dtype))
        error = left
        if _ends_early(limit):
            error = jnp.linalg.norm(wanted - jnp.dot(images, _least_squares(images, wanted)))
        return basis, images, k + 1, (left == 0) | (error <= limit)

    images = jnp.zeros((restart + 1, restart), dtype)
    begin = basis, images, 0, jnp.array(False)
    end = lax.while_loop(lambda state: (state[2] < restart) & ~state[3], step, begin)
    return end[0], end[1]


def _ends_early(limit: Any) -> bool:
    return not (isinstance(limit, float) and limit == 0.0)


def _least_squares(matrix: Any, wanted: Any) -> Any:
    """Return y with the least |matrix y - wanted|; 0 for columns that are zero."""
    adjoint = matrix.T.conj()
    square = jnp.dot(adjoint, matrix)
    square = square + jnp.diag(jnp.where(jnp.diag(square) == 0, 1, 0).astype(square.dtype))
    return linalg.solve(square, jnp.dot(adjoint, wanted), assume_a="pos")


def _normalized(x: Any, tolerance: Any = None) -> tuple[Any, Any]:
    """Return a vector of length 1 and the length; both 0 when that is no larger than the tolerance."""
    length = norm(x)
    is_long = length > (jnp.finfo(length.dtype).eps if tolerance is None else tolerance)
    return tree_map(lambda a: jnp.where(is_long, a / length.astype(a.dtype), 0.0), x), jnp.where(is_long, length, 0.0)
