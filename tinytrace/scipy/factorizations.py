"""Factorizations under SciPy's names: cholesky, LU, QR, singular values, eigenvalues of symmetric matrices."""
from __future__ import annotations

from typing import Any

from tinytrace.api.library import library_jit
from tinytrace.lax import Precision
from tinytrace.lax import linalg as lax_linalg
from tinytrace.numpy.array_creation import array, asarray
from tinytrace.numpy.classification import conj, real
from tinytrace.numpy.contraction import matmul
from tinytrace.numpy.promotion import ArrayLike, Value, promote_dtypes_inexact
from tinytrace.numpy.ranges import arange, eye
from tinytrace.numpy.triangular import tril, triu


def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """Return the triangular U with `a = U.T @ U` (`lower`: L with `a = L @ L.T`) of a positive definite f32[..., n, n].

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.cholesky.html.

    >>> jax.scipy.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    return _cholesky(a, lower)


@library_jit("lower")
def _cholesky(a: ArrayLike, lower: bool) -> Value:
    a, = promote_dtypes_inexact(asarray(a))
    factor = lax_linalg.cholesky(a if lower else conj(a.mT), symmetrize_input=False)
    return factor if lower else conj(factor.mT)


def cho_factor(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
               ) -> tuple[Value, bool]:
    """Return the factor of `cholesky`, and whether it is the lower one: what `cho_solve` takes.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.cho_factor.html.

    >>> jax.scipy.linalg.cho_factor(jnp.array([[4.0]]))
    (Array([[2.]], dtype=float32), False)
    """
    return cholesky(a, lower=lower), lower


@library_jit("permute_l", "overwrite_a", "check_finite")
def lu(a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return P, L, U with `a = P @ L @ U` for f32[m, n]; only `P @ L` and U if `permute_l`.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.lu.html.

    >>> p, l, u = jax.scipy.linalg.lu(jnp.array([[1.0, 2.0], [2.0, 2.0]]))
    >>> u
    Array([[2., 2.],
           [0., 1.]], dtype=float32)
    """
    return _lu(a, permute_l)


@library_jit(static_argnums=(1,))
def _lu(a: ArrayLike, permute_l: bool) -> Any:
    a, = promote_dtypes_inexact(asarray(a))
    both, _, permutation = lax_linalg.lu(a)
    m, n = a.shape
    rows = permutation[None, :] == arange(m, dtype=permutation.dtype)[:, None]
    p = real(array(rows, dtype=a.dtype))
    k = min(m, n)
    lower = tril(both, -1)[:, :k] + eye(m, k, dtype=a.dtype)
    upper = triu(both)[:k, :]
    return (matmul(p, lower, precision=Precision.HIGHEST), upper) if permute_l else (p, lower, upper)


@library_jit("overwrite_a", "check_finite")
def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Value, Value]:
    """Return L and U in the triangles of one f32[..., m, n], and the row that each row was exchanged with.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.lu_factor.html.

    >>> jax.scipy.linalg.lu_factor(jnp.array([[1.0, 2.0], [2.0, 2.0]]))[1]
    Array([1, 1], dtype=int32)
    """
    a, = promote_dtypes_inexact(asarray(a))
    both, pivots, _ = lax_linalg.lu(a)
    return both, pivots


def qr(a: ArrayLike, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
       check_finite: bool = True) -> Any:
    """Return an orthogonal Q and an upper triangular R with `a = Q @ R`.

    mode: "full" (Q is square), "economic" or "r" (a tuple of only R).
    Raises: NotImplementedError for `pivoting`, ValueError for another mode.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.qr.html.

    >>> jax.scipy.linalg.qr(jnp.ones((3, 2)), mode="economic")[0].shape
    (3, 2)
    """
    return _qr(a, mode, pivoting)


@library_jit("mode", "pivoting")
def _qr(a: ArrayLike, mode: str, pivoting: bool) -> Any:
    if pivoting:
        raise NotImplementedError("The pivoting=True case of qr is not implemented.")
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    a, = promote_dtypes_inexact(asarray(a))
    q, r = lax_linalg.qr(a, full_matrices=mode != "economic")
    return (r,) if mode == "r" else (q, r)


def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
        check_finite: bool = True, lapack_driver: str = "gesdd") -> Any:
    """Return U, the singular values f32[..., k], largest first, and Vh with `a = U @ diag(s) @ Vh`.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.svd.html.

    >>> jax.scipy.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    return _svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


@library_jit("full_matrices", "compute_uv")
def _svd(a: ArrayLike, *, full_matrices: bool, compute_uv: bool) -> Any:
    a, = promote_dtypes_inexact(asarray(a))
    return lax_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


def eigh(a: ArrayLike, b: ArrayLike | None = None, lower: bool = True, eigvals_only: bool = False,
         overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True, eigvals: None = None, type: int = 1,
         check_finite: bool = True) -> Any:
    """Return the eigenvalues of a symmetric f32[..., n, n], smallest first, and its eigenvectors as columns.

    Raises: NotImplementedError for the generalized problem (`b`, `type`) and for a choice of eigenvalues.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.linalg.eigh.html.

    >>> jax.scipy.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    return _eigh(a, b, lower, eigvals_only, eigvals, type)


@library_jit("lower", "eigvals_only", "eigvals", "type")
def _eigh(a: ArrayLike, b: ArrayLike | None, lower: bool, eigvals_only: bool, eigvals: None, type: int) -> Any:
    if b is not None:
        raise NotImplementedError("Only the b=None case of eigh is implemented")
    if type != 1:
        raise NotImplementedError("Only the type=1 case of eigh is implemented.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented.")
    a, = promote_dtypes_inexact(asarray(a))
    vectors, values = lax_linalg.eigh(a, lower=lower)
    return values if eigvals_only else (values, vectors)


__all__ = ["cho_factor", "cholesky", "eigh", "lu", "lu_factor", "qr", "svd"]
