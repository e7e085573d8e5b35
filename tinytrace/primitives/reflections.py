"""Reflections that bring a matrix near a diagonal: hessenberg and tridiagonal, and the product of reflections.

A reflection is 1 - tau v v^H: v is zero before its first element, which is 1, and its others stand where the matrix has
become zero. Source: LAPACK Users' Guide, gehrd, sytrd and orgqr.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, INT32, dtype_of, is_complex, part_dtype
from tinytrace.core.kinds import Kind
from tinytrace.core.primitive import refuse
from tinytrace.primitives.broadcasting import batch_dim_at_front, broadcast_in_dim
from tinytrace.primitives.comparison import eq
from tinytrace.primitives.creation import full
from tinytrace.primitives.factorization import Factorization
from tinytrace.primitives.lapack import OnMatrices, by_lapack, ins, not_found, outs
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import NDArray


def hessenberg(a: Any) -> Any:
    """Return a: f32[..., n, n] reduced to zeros below the first subdiagonal, where reflections stand, and their taus.

    `householder_product(reduced[..., 1:, :-1], taus)` is the orthogonal matrix that does it.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.hessenberg.html.

    >>> hessenberg(np.float32([[1, 2], [3, 4]]))
    [Array([[1., 2.],
           [3., 4.]], dtype=float32), Array([0.], dtype=float32)]
    """
    return hessenberg_p.bind(a)


def householder_product(a: Any, taus: Any) -> Any:
    """Return the first columns of the product of reflections, whose vectors stand below the diagonal of f32[..., m, n].

    taus: f32[..., k], one for each reflection.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.householder_product.html.

    >>> householder_product(np.float32([[5], [0]]), np.float32([2]))
    Array([[-1.],
           [ 0.]], dtype=float32)
    """
    return householder_product_p.bind(a, taus)


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """Return symmetric a: f32[..., n, n] reduced to a tridiagonal matrix, its diagonal, that beside it, and the taus.

    lower: read the lower triangle, where the reflections then stand below the subdiagonal; otherwise the upper one.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.tridiagonal.html.

    >>> tridiagonal(np.float32([[1, 2], [2, 3]]))[1:3]
    (Array([1., 3.], dtype=float32), Array([2.], dtype=float32))
    """
    *found, info = tridiagonal_p.bind(a, lower=lower)

    def or_nan(x: Any) -> Any:
        shape, dtype = np.shape(x), dtype_of(x)
        good = broadcast_in_dim(eq(info, np.int32(0)), shape, tuple(range(np.ndim(info))))
        return select(good, x, full(shape, not_found(dtype), dtype))

    reduced, diagonal, beside, taus = map(or_nan, found)
    return reduced, diagonal, beside, taus


# --- rooms -----------------------------------------------------------------------------------------------------

class Hessenberg(Factorization):
    """`hessenberg a: f32[n,n]` is f32[n,n], f32[n-1]."""

    name = "hessenberg"
    jvp = refuse("JAX has no rule for it either: what is below the subdiagonal depends on signs")

    def abstract_eval(self, a: ShapedArray) -> list[ShapedArray]:
        _check_square("hessenberg", a)
        return [a, ShapedArray((*a.shape[:-2], a.shape[-1] - 1), a.dtype)]

    def impl(self, a: NDArray) -> list[NDArray]:
        return list(_reduced(a))

    def lower_wide(self, in_avals: Sequence[ShapedArray]) -> Kind:
        a, = in_avals
        return by_lapack("gehrd", a, a.shape[-1], *ins(0), *outs(0, 1))


class HouseholderProduct(OnMatrices):
    """`householder_product a: f32[m,n] b: f32[k]` is f32[m,n], with m >= n >= k."""

    name = "householder_product"
    jvp = refuse("JAX has no rule for it either")
    transpose = refuse("it is not linear in the vectors of the reflections")

    def abstract_eval(self, a: ShapedArray, taus: ShapedArray) -> ShapedArray:
        if a.ndim < 2:
            raise ValueError("Argument to Householder product must have ndims >= 2")
        *batch, m, n = a.shape
        *taus_batch, k = taus.shape
        if a.dtype != taus.dtype or batch != taus_batch or k > min(m, n):
            raise ValueError(f"Type mismatch for Householder product: {a=} {taus=}")
        if m < n:
            raise ValueError(f"Householder product inputs must have at least as many rows as columns, got shape "
                             f"{a.shape}")
        return a

    def impl(self, a: NDArray, taus: NDArray) -> NDArray:
        m, n = a.shape[-2:]
        q = np.broadcast_to(np.eye(m, n, dtype=a.dtype), a.shape).copy()
        rows = np.arange(m)
        for k in reversed(range(taus.shape[-1])):
            v = np.where(rows > k, a[..., :, k], rows == k)[..., None].astype(a.dtype)
            q -= taus[..., k, None, None] * v * (v.conj().mT @ q)
        return q

    def batch(self, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, Any]:
        size = next(np.shape(x)[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
        a, taus = (batch_dim_at_front(x, dim, size) for x, dim in zip(args, dims, strict=True))
        return householder_product(a, taus), 0

    def lower_wide(self, in_avals: Sequence[ShapedArray]) -> Kind:
        a, taus = in_avals
        return by_lapack("orgqr", a, *a.shape[-2:], taus.shape[-1], *ins(0, 1), *outs(0))


class Tridiagonal(Factorization):
    """`tridiagonal[lower=True] a: f32[n,n]` is f32[n,n], f32[n], f32[n-1], f32[n-1], i32[]: the last is 0."""

    name = "tridiagonal"
    jvp = refuse("JAX has no rule for it either: the reflections depend on signs")

    def abstract_eval(self, a: ShapedArray, *, lower: bool) -> list[ShapedArray]:
        _check_square("tridiagonal", a)
        *batch, n = a.shape[:-1]
        if n == 0:
            raise TypeError("tridiagonal requires the last two dimensions of a to be non-zero, got a.shape of "
                            f"{a.shape}.")
        real = part_dtype(a.dtype)
        return [a, ShapedArray((*batch, n), real), ShapedArray((*batch, n - 1), real),
                ShapedArray((*batch, n - 1), a.dtype), ShapedArray(tuple(batch), INT32)]

    def impl(self, a: NDArray, *, lower: bool) -> list[NDArray]:
        flipped = a if lower else a[..., ::-1, ::-1]  # the upper triangle is reduced from its last column on
        below = np.tril(flipped, -1)
        diagonal = np.diagonal(flipped, axis1=-2, axis2=-1).real
        whole = below + below.conj().mT
        at = np.arange(a.shape[-1])
        whole[..., at, at] = diagonal
        reduced, taus = _reduced(whole)
        reduced = np.tril(reduced) + np.triu(flipped, 1)
        d, e = reduced[..., at, at].real, reduced[..., at[1:], at[:-1]].real
        info = np.zeros(a.shape[:-2], np.int32)
        if lower:
            return [reduced, d, e, taus, info]
        return [reduced[..., ::-1, ::-1].copy(), d[..., ::-1].copy(), e[..., ::-1].copy(), taus[..., ::-1].copy(), info]

    def lower_wide(self, in_avals: Sequence[ShapedArray], *, lower: bool) -> Kind:
        a, = in_avals
        return by_lapack("sytrd", a, a.shape[-1], int(lower), *ins(0), *outs(0, 1, 2, 3, 4))


def _check_square(name: str, a: ShapedArray) -> None:
    if a.dtype not in (FLOAT32, FLOAT64, COMPLEX64, COMPLEX128):
        raise TypeError(f"{name} requires a.dtype to be float32, float64, complex64, or complex128, got {a.dtype}.")
    if a.ndim < 2:
        raise TypeError(f"{name} requires a.ndim to be at least 2, got {a.ndim}.")
    if a.shape[-1] != a.shape[-2]:
        raise TypeError(f"{name} requires the last two dimensions of a to be equal in size, got a.shape of {a.shape}.")


# --- steps in NumPy ----------------------------------------------------------------------------------------------

def _reduced(a: NDArray) -> tuple[NDArray, NDArray]:
    """Return Hessenberg forms, with the vectors of reflections below, and the factors of these."""
    n = a.shape[-1]
    out, taus = a.copy(), np.zeros((*a.shape[:-2], max(n - 1, 0)), a.dtype)
    for where in np.ndindex(a.shape[:-2]):
        h = out[where]
        for k in range(n - 1):
            v, tau, beta = _reflection(h[k + 1:, k])
            taus[(*where, k)] = tau
            h[:, k + 1:] -= tau * np.outer(h[:, k + 1:] @ v, v.conj())
            h[k + 1:, k + 1:] -= np.conj(tau) * np.outer(v, v.conj() @ h[k + 1:, k + 1:])
            h[k + 1, k], h[k + 2:, k] = beta, v[1:]
    return out, taus


def _reflection(x: NDArray) -> tuple[NDArray, Any, Any]:
    """Return v, tau and beta such that the adjoint of 1 - tau v v^H maps x to (beta, 0, ...), with a real beta."""
    size = np.linalg.norm(x)
    v = np.zeros_like(x)
    v[0] = 1
    if not np.any(x[1:]) and (not is_complex(x.dtype) or x[0].imag == 0):
        return v, x.dtype.type(0), x[0]
    beta = -np.copysign(size, x[0].real)
    v[1:] = x[1:] / (x[0] - beta)
    return v, (beta - x[0]) / beta, beta


hessenberg_p = Hessenberg()
householder_product_p = HouseholderProduct()
tridiagonal_p = Tridiagonal()
