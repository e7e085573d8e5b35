"""Linear systems under SciPy's names: solved outright, or by a factorization that was made before."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.api.vmapping import vmap
from tinytrace.lax import linalg as lax_linalg
from tinytrace.lax.linear_solve import custom_linear_solve
from tinytrace.numpy import linalg as numpy_linalg
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.linalg import systems
from tinytrace.numpy.promotion import ArrayLike, Value, promote_dtypes_inexact
from tinytrace.scipy.factorizations import cho_factor


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """Return the determinant of each matrix of f32[..., n, n].

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.det.html.

    >>> jax.scipy.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)
    """
    return numpy_linalg.det(a)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """Return the inverse of each matrix of f32[..., n, n].

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.inv.html.

    >>> jax.scipy.linalg.inv(jnp.array([[2.0]]))
    Array([[0.5]], dtype=float32)
    """
    return numpy_linalg.inv(a)


def solve(a: ArrayLike, b: ArrayLike, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
          debug: bool = False, check_finite: bool = True, assume_a: str = "gen") -> Value:
    """Return the x with `a @ x = b`.

    assume_a: "pos" for a positive definite `a`, of which one triangle is read (the lower one if `lower`).
    Raises: ValueError unless `assume_a` is "gen", "sym", "her" or "pos".
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.solve.html.

    >>> jax.scipy.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]), assume_a="pos")
    Array([1. , 0.5], dtype=float32)
    """
    known = ["gen", "sym", "her", "pos"]
    if assume_a not in known:
        raise ValueError(f"Expected assume_a to be one of {known}; got {assume_a!r}")
    return _solve(a, b, assume_a, lower)


@library_jit("assume_a", "lower")
def _solve(a: ArrayLike, b: ArrayLike, assume_a: str, lower: bool) -> Value:
    if assume_a != "pos":
        return numpy_linalg.solve(a, b)
    a, b = promote_dtypes_inexact(asarray(a), asarray(b))
    systems.check_shapes(a, b)
    factors = cho_factor(lax.stop_gradient(a), lower=lower)
    solved = partial(custom_linear_solve, lambda x: systems.matvec(a, x), solve=lambda _, x: cho_solve(factors, x),
                     symmetric=True)
    if a.ndim == b.ndim + 1:
        return solved(b)
    return vmap(solved, b.ndim - 1, max(a.ndim, b.ndim) - 1)(b)


def cho_solve(c_and_lower: tuple[ArrayLike, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
              ) -> Value:
    """Return the x with `a @ x = b`, for the result of `cho_factor(a)`.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.cho_solve.html.

    >>> jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(jnp.array([[4.0]])), jnp.array([2.0]))
    Array([0.5], dtype=float32)
    """
    factor, lower = c_and_lower
    return _cho_solve(factor, b, lower)


@library_jit("lower")
def _cho_solve(c: ArrayLike, b: ArrayLike, lower: bool) -> Value:
    c, b = promote_dtypes_inexact(asarray(c), asarray(b))
    systems.check_shapes(c, b)
    for transposed in (not lower, lower):
        b = lax_linalg.triangular_solve(c, b, left_side=True, lower=lower, transpose_a=transposed,
                                        conjugate_a=transposed)
    return b


@library_jit("trans", "overwrite_b", "check_finite")
def lu_solve(lu_and_piv: tuple[Value, ArrayLike], b: ArrayLike, trans: int = 0, overwrite_b: bool = False,
             check_finite: bool = True) -> Value:
    """Return the x with `a @ x = b`, or with `a.T` (trans 1) or its conjugate (2), for the result of `lu_factor(a)`.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.lu_solve.html.

    >>> jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(jnp.array([[4.0]])), jnp.array([2.0]))
    Array([0.5], dtype=float32)
    """
    both, pivots = lu_and_piv
    permutation = lax_linalg.lu_pivots_to_permutation(pivots, both.shape[-2])
    return systems.lu_solve(both, permutation, b, trans)


def solve_triangular(a: ArrayLike, b: ArrayLike, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, debug: Any = None, check_finite: bool = True) -> Value:
    """Return the x with `a @ x = b` for a triangular `a: f32[..., n, n]`, of which one triangle is read.

    trans: 1 or "T" to solve with the transpose. unit_diagonal: take the diagonal as ones.
    Raises: ValueError unless `trans` is one of 0, 1, 2, "N", "T", "C".
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.solve_triangular.html.

    >>> jax.scipy.linalg.solve_triangular(jnp.array([[1.0, 1.0], [0.0, 2.0]]), jnp.array([2.0, 2.0]))
    Array([1., 1.], dtype=float32)
    """
    return _solve_triangular(a, b, trans, lower, unit_diagonal)


@library_jit("trans", "lower", "unit_diagonal")
def _solve_triangular(a: ArrayLike, b: ArrayLike, trans: int | str, lower: bool, unit_diagonal: bool) -> Value:
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"Invalid 'trans' value {trans}")
    a, b = promote_dtypes_inexact(asarray(a), asarray(b))
    is_vector = np.ndim(a) == np.ndim(b) + 1
    b = b[..., None] if is_vector else b
    x = lax_linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=trans not in (0, "N"),
                                    conjugate_a=trans in (2, "C"), unit_diagonal=unit_diagonal)
    return x[..., 0] if is_vector else x
