"""Factorizations: cholesky, singular values, QR, eigenvalues of symmetric matrices, and what follows from them."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.lax import linalg as lax_linalg
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.classification import conjugate
from tinytrace.numpy.promotion import ArrayLike, Value, check_arraylike, promote_dtypes_inexact
from tinytrace.numpy.reductions import sum
from tinytrace.numpy.scalar_types import finfo
from tinytrace.numpy.shapes import expand_dims, matrix_transpose
from tinytrace.numpy.taking import take_along_axis
from tinytrace.records import NamedTuple


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Value
    eigenvectors: Value


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Value
    R: Value


class SVDResult(NamedTuple):
    """What `svd` returns: `x = U @ diag(S) @ Vh`."""

    U: Value
    S: Value
    Vh: Value


def conjugate_transpose(x: ArrayLike) -> Value:
    return conjugate(matrix_transpose(x))


@library_jit("upper")
def cholesky(a: ArrayLike, *, upper: bool = False) -> Value:
    """Return the lower triangular L with `a = L @ L.T` of a positive definite f32[..., n, n]; nan if it is not.

    >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.cholesky.html.
    """
    check_arraylike("jnp.linalg.cholesky", a)
    a, = promote_dtypes_inexact(asarray(a))
    factor = lax_linalg.cholesky(a)
    return factor.mT.conj() if upper else factor


@library_jit("full_matrices", "compute_uv", "hermitian", "subset_by_index")
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
        subset_by_index: tuple[int, int] | None = None) -> Any:
    """Return the singular values f32[..., k], largest first, and the orthogonal matrices left and right of them.

    >>> jnp.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]])).S
    Array([4., 3.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.svd.html.
    """
    check_arraylike("jnp.linalg.svd", a)
    a, = promote_dtypes_inexact(asarray(a))
    if hermitian:
        return _svd_of_symmetric(a, compute_uv, subset_by_index)
    found = lax_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index)
    return SVDResult(*found) if compute_uv else found


def _svd_of_symmetric(a: Value, compute_uv: bool, subset_by_index: tuple[int, int] | None) -> Any:
    """Singular values are the sizes of eigenvalues."""
    vectors, values = lax_linalg.eigh(a, subset_by_index=subset_by_index)
    s = lax.abs(values)
    last = [s.ndim - 1]
    if not compute_uv:
        return lax.rev(lax.sort(s, dimension=-1), dimensions=last)
    sign = lax.sign(values)
    places = lax.broadcasted_iota(np.int64, s.shape, dimension=s.ndim - 1)
    s, places, sign = [lax.rev(x, dimensions=last) for x in lax.sort((s, places, sign), dimension=-1, num_keys=1)]
    u = take_along_axis(vectors, places[..., None, :], axis=-1)
    return SVDResult(u, s, conjugate_transpose(u * sign[..., None, :].astype(u.dtype)))


def svdvals(x: ArrayLike, /) -> Value:
    """Return the singular values, largest first.

    >>> jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
    Array([4., 3.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.svdvals.html.
    """
    check_arraylike("jnp.linalg.svdvals", x)
    return svd(x, compute_uv=False, hermitian=False)


@library_jit("mode")
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """Return an orthogonal Q and an upper triangular R with `a = Q @ R`.

    mode: "reduced", "complete" (Q is square) or "r" (only R).

    >>> jnp.linalg.qr(jnp.array([[0.0, 2.0], [1.0, 3.0]]), mode="r").shape
    (2, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.qr.html.
    """
    check_arraylike("jnp.linalg.qr", a)
    a, = promote_dtypes_inexact(asarray(a))
    if mode == "raw":
        raise NotImplementedError("jnp.linalg.qr: mode 'raw' is not supported: use 'reduced', 'complete' or 'r'")
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = lax_linalg.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def eig(a: ArrayLike) -> tuple[Value, Value]:
    """Return the eigenvalues c64[..., n] of any matrices f32[..., n, n], and their eigenvectors as columns.

    >>> jnp.linalg.eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]]))[0]
    Array([0.+1.j, 0.-1.j], dtype=complex64)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.eig.html.
    """
    check_arraylike("jnp.linalg.eig", a)
    a, = promote_dtypes_inexact(asarray(a))
    values, vectors = lax_linalg.eig(a, compute_left_eigenvectors=False)
    return values, vectors


@library_jit()
def eigvals(a: ArrayLike) -> Value:
    """Return the eigenvalues c64[..., n] of any matrices f32[..., n, n].

    >>> jnp.linalg.eigvals(jnp.array([[0.0, 1.0], [-1.0, 0.0]]))
    Array([0.+1.j, 0.-1.j], dtype=complex64)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.eigvals.html.
    """
    check_arraylike("jnp.linalg.eigvals", a)
    a, = promote_dtypes_inexact(asarray(a))
    values, = lax_linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    return values


@library_jit("UPLO", "symmetrize_input")
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Return the eigenvalues of a symmetric matrix, smallest first, and its eigenvectors as columns.

    >>> jnp.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Array([1., 2.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.eigh.html.
    """
    check_arraylike("jnp.linalg.eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    a, = promote_dtypes_inexact(asarray(a))
    vectors, values = lax_linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@library_jit("UPLO")
def eigvalsh(a: ArrayLike, UPLO: str | None = "L") -> Value:
    """Return the eigenvalues of a symmetric matrix, smallest first.

    >>> jnp.linalg.eigvalsh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
    Array([1., 2.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.eigvalsh.html.
    """
    check_arraylike("jnp.linalg.eigvalsh", a)
    a, = promote_dtypes_inexact(asarray(a))
    return eigh(a, UPLO).eigenvalues


@library_jit()
def matrix_rank(M: ArrayLike, rtol: ArrayLike | None = None, *, tol: ArrayLike | None = None) -> Value:
    """Return how many singular values are larger than `rtol`; `tol` is its name of old.

    >>> jnp.linalg.matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
    Array(1, dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.linalg.matrix_rank.html.
    """
    check_arraylike("jnp.linalg.matrix_rank", M)
    if tol is not None:
        warnings.warn("The tol argument for linalg.matrix_rank is deprecated. Please use rtol instead.",
                      DeprecationWarning, stacklevel=6)
        rtol = tol
    a, = promote_dtypes_inexact(asarray(M))
    if a.ndim < 2:
        return (a != 0).any().astype(np.int32)
    s = svd(a, full_matrices=False, compute_uv=False)
    if rtol is None:
        rtol = s.max(-1) * np.max(a.shape[-2:]).astype(s.dtype) * finfo(s.dtype).eps
    rtol = expand_dims(rtol, np.ndim(rtol))
    return sum(s > rtol, axis=-1)
