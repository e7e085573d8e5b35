"""Factorizations of matrices: lu, qr, eigh and svd, over the last two dimensions; NumPy and LAPACK do the work."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT32, INT32, dtype_of, is_complex, is_inexact, part_dtype
from tinytrace.core.primitive import refuse
from tinytrace.core.tangents import Zero
from tinytrace.primitives.arithmetic import add, div, integer_pow, mul, sub
from tinytrace.primitives.broadcasting import broadcast_in_dim, broadcast_to_rank, expand_dims
from tinytrace.primitives.comparison import eq
from tinytrace.primitives.complex_numbers import real
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.contraction import Precision, dot_general
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.creation import broadcasted_iota, full, iota
from tinytrace.primitives.elementwise import const_like
from tinytrace.primitives.gathering import gather, wrapped
from tinytrace.primitives.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from tinytrace.primitives.scattering import scatter
from tinytrace.primitives.shaping import NDArray, moveaxis
from tinytrace.primitives.slicing import pad
from tinytrace.primitives.triangular import (
    OnHost,
    adjoint,
    exact_product,
    identity_matrix,
    lower_part,
    swapped,
    symmetrized,
    triangular_solve,
    upper_part,
)


def lu(x: Any) -> Any:
    """Return (lu, pivots, permutation) with x[permutation] = L @ U, L and U in the triangles of lu: f32[..., m, n].

    The diagonal of L is ones. pivots: i32[..., min(m, n)], the row that each row was exchanged with.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.lu.html.

    >>> lu(np.float32([[1, 2], [2, 2]]))[0]
    Array([[2. , 2. ],
           [0.5, 1. ]], dtype=float32)
    """
    return tuple(lu_p.bind(x))


def qr(x: Any, *, full_matrices: bool = True) -> Any:
    """Return orthogonal q and upper triangular r with q @ r = x: f32[..., m, n].

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.qr.html.
    """
    return tuple(qr_p.bind(x, full_matrices=full_matrices))


def eigh(x: Any, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True,
         subset_by_index: tuple[int, int] | None = None) -> Any:
    """Return eigenvectors (as columns) and ascending eigenvalues of symmetric x: f32[..., n, n].

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.eigh.html.
    """
    return tuple(eigh_p.bind(symmetrized(x) if symmetrize_input else x, lower=lower, sort_eigenvalues=sort_eigenvalues,
                             subset_by_index=subset_by_index))


def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True,
        subset_by_index: tuple[int, int] | None = None, algorithm: Any = None) -> Any:
    """Return u, s, vt with u @ diag(s) @ vt = x: f32[..., m, n], or s alone.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.svd.html.
    """
    outs = svd_p.bind(x, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index,
                      algorithm=algorithm)
    return (outs[1], outs[0], outs[2]) if compute_uv else outs[0]


# --- rooms -----------------------------------------------------------------------------------------------------

class Factorization(OnHost):
    """The family: several results, one matrix after the other, not linear."""

    multiple_results = True
    transpose = refuse("a factorization is not linear")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        outs = self.bind(moveaxis(x, dim, 0), **params)
        return outs, [0] * len(outs)

    @staticmethod
    def check_matrix(x: ShapedArray, name: str) -> None:
        """Raise ValueError or TypeError unless `x` is a stack of matrices of floats or complex numbers."""
        if x.ndim < 2:
            raise ValueError(f"Argument to {name} decomposition must have ndims >= 2")
        if not is_inexact(x.dtype):
            raise TypeError(f"{name} decomposition does not accept dtype {x.dtype.name}. Accepted dtypes are subtypes "
                            "of floating, complexfloating.")


class LU(Factorization):
    """`lu a: f32[m,n]` is f32[m,n], i32[min(m,n)], i32[m]."""

    name = "lu"

    def abstract_eval(self, x: ShapedArray) -> list[ShapedArray]:
        self.check_matrix(x, "LU")
        *batch, m, n = x.shape
        return [x, x.update(shape=(*batch, min(m, n)), dtype=INT32), x.update(shape=(*batch, m), dtype=INT32)]

    def impl(self, x: NDArray) -> list[NDArray]:
        *batch, m, n = x.shape
        out = np.array(x, _wide(x))
        pivots, rows = np.zeros((*batch, min(m, n)), np.int32), np.zeros((*batch, m), np.int32)
        for where in np.ndindex(*batch):
            _eliminate(out[where], pivots[where], rows[where])
        return [out.astype(x.dtype), pivots, rows]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        # Source: De Hoog, Anderssen, Lukas, "Differentiation of matrix functionals using triangular factorization".
        (a,), (t,) = primals, tangents
        both, pivots, rows = self.bind(a)
        m, n = np.shape(a)[-2:]
        k, batch = min(m, n), np.shape(a)[:-2]
        t = rows_at(t, rows)
        ndim, zero, dtype = len(batch) + 2, const_like(both, 0), dtype_of(a)
        around = [(0, 0, 0)] * (ndim - 2)
        left = pad(lower_part(_leading(both, k, ndim - 1), -1), zero, [*around, (0, 0, 0), (0, m - k, 0)])
        left = add(left, expand_dims(identity_matrix(dtype, m), range(ndim - 2)))
        corner = pad(identity_matrix(dtype, n - k), zero, ((k, 0, 0), (k, 0, 0)))
        right = pad(upper_part(_leading(both, k, ndim - 2)), zero, [*around, (0, n - k, 0), (0, 0, 0)])
        right = add(right, expand_dims(corner, range(ndim - 2)))
        middle = triangular_solve(left, t, left_side=True, lower=True, unit_diagonal=True)
        middle = triangular_solve(right, middle, left_side=False, lower=False)
        left_dot = _product(left, lower_part(middle, -1), Precision.HIGHEST)
        right_dot = _product(upper_part(middle), right, Precision.HIGHEST)
        return [both, pivots, rows], [add(left_dot, right_dot), *map(Zero.from_primal_value, (pivots, rows))]


class QR(Factorization):
    """`qr[full_matrices=False] a: f32[m,n]` is f32[m,k], f32[k,n] with k = min(m, n)."""

    name = "qr"

    def abstract_eval(self, x: ShapedArray, *, full_matrices: bool) -> list[ShapedArray]:
        self.check_matrix(x, "QR")
        *batch, m, n = x.shape
        k = m if full_matrices else min(m, n)
        return [x.update(shape=(*batch, m, k)), x.update(shape=(*batch, k, n))]

    def impl(self, x: NDArray, *, full_matrices: bool) -> list[NDArray]:
        q, r = np.linalg.qr(x.astype(_wide(x)), "complete" if full_matrices else "reduced")
        return [q.astype(x.dtype), r.astype(x.dtype)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool) -> tuple[Any, Any]:
        # Source: J. Townsend, "Differentiating the QR decomposition" (j-towns.github.io/papers/qr-derivative.pdf).
        (x,), (t,) = primals, tangents
        q, r = self.bind(x, full_matrices=False)
        m, n = np.shape(x)[-2:]
        if m < n or (full_matrices and m != n):
            raise NotImplementedError("Unimplemented case of QR decomposition derivative")
        t_over_r = triangular_solve(r, t)
        turned = _product(adjoint(q), t_over_r)
        below = lower_part(turned, -1)
        skew = sub(below, adjoint(below))
        # As in JAX, the diagonal of the imaginary part is added: of real numbers it is zero.
        eye = expand_dims(identity_matrix(dtype_of(skew), n), range(np.ndim(skew) - 2))
        skew = add(skew, mul(eye, sub(turned, _like(_real(turned), turned))))
        return [q, r], [add(_product(q, sub(skew, turned)), t_over_r), _product(sub(turned, skew), r)]


class Eigh(Factorization):
    """`eigh[lower=True ...] a: f32[n,n]` is f32[n,n], f32[n]: eigenvectors as columns, ascending eigenvalues."""

    name = "eigh"

    def abstract_eval(self, x: ShapedArray, *, subset_by_index: tuple[int, int] | None,
                      **params: Any) -> list[ShapedArray]:
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError("Argument to symmetric eigendecomposition must have shape [..., n, n], "
                             f"got shape {x.shape}")
        self.check_matrix(x, "symmetric eigen")
        count = x.shape[-1] if subset_by_index is None else subset_by_index[1] - subset_by_index[0]
        values = x.update(shape=(*x.shape[:-2], count), dtype=part_dtype(x.dtype))
        return [x.update(shape=(*x.shape[:-1], count)), values]

    def impl(self, x: NDArray, *, lower: bool, sort_eigenvalues: bool,
             subset_by_index: tuple[int, int] | None) -> list[NDArray]:
        vectors, values = np.empty(x.shape, _wide(x)), np.empty(x.shape[:-1], part_dtype(_wide(x)))
        for where in np.ndindex(x.shape[:-2]):
            try:
                values[where], vectors[where] = np.linalg.eigh(x[where].astype(_wide(x)), "L" if lower else "U")
            except np.linalg.LinAlgError:  # it did not converge: there were infinities or NaN
                values[where] = vectors[where] = np.nan
        kept = np.s_[...] if subset_by_index is None else np.s_[..., subset_by_index[0]:subset_by_index[1]]
        return [vectors[kept].astype(x.dtype), values[kept].astype(part_dtype(x.dtype))]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, subset_by_index: tuple[int, int] | None,
            **params: Any) -> tuple[Any, Any]:
        # Source: M. Giles, "An extended collection of matrix derivative results" (2008): distinct eigenvalues.
        (a,), (t,) = primals, tangents
        n = np.shape(a)[-1]
        if subset_by_index not in (None, (0, n)):
            raise NotImplementedError("Derivatives not defined for partial eigen decomposition.")
        v, w = self.bind(symmetrized(a), subset_by_index=subset_by_index, **params)
        values = _like(w, a)
        eye, ndim = identity_matrix(dtype_of(a), n), np.ndim(w)
        row = expand_dims(values, (ndim - 1,))
        gaps = sub(add(broadcast_to_rank(eye, ndim + 1), row), expand_dims(values, (ndim,)))
        inverse_gaps = sub(integer_pow(gaps, -1), broadcast_to_rank(eye, ndim + 1))
        turned = exact_product(exact_product(adjoint(v), t), v)
        return [v, w], [exact_product(v, mul(inverse_gaps, turned)), _diagonal(_real(turned))]


class SVD(Factorization):
    """`svd[compute_uv=True full_matrices=False ...] a: f32[m,n]` is f32[k], f32[m,k], f32[k,n] with k = min(m, n)."""

    name = "svd"

    def abstract_eval(self, x: ShapedArray, *, full_matrices: bool, compute_uv: bool,
                      subset_by_index: tuple[int, int] | None, algorithm: Any) -> list[ShapedArray]:
        self.check_matrix(x, "singular value")
        *batch, m, n = x.shape
        rank = min(m, n)
        if subset_by_index is not None:
            if full_matrices and subset_by_index != (0, rank):
                raise ValueError("full_matrices and subset_by_index cannot both be set")
            rank = min(rank, subset_by_index[1] - subset_by_index[0])
        values = x.update(shape=(*batch, rank), dtype=part_dtype(x.dtype))
        if not compute_uv:
            return [values]
        return [values, x.update(shape=(*batch, m, m if full_matrices else rank)),
                x.update(shape=(*batch, n if full_matrices else rank, n))]

    def impl(self, x: NDArray, *, full_matrices: bool, compute_uv: bool, subset_by_index: tuple[int, int] | None,
             algorithm: Any) -> list[NDArray]:
        wide = x.astype(_wide(x))
        kept = slice_of(subset_by_index)
        if not compute_uv:
            return [np.linalg.svd(wide, compute_uv=False)[..., kept].astype(part_dtype(x.dtype))]
        u, s, vt = np.linalg.svd(wide, full_matrices)
        if not full_matrices:
            u, s, vt = u[..., kept], s[..., kept], vt[..., kept, :]
        return [s.astype(part_dtype(x.dtype)), u.astype(x.dtype), vt.astype(x.dtype)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool, compute_uv: bool,
            **params: Any) -> tuple[Any, Any]:
        # Source: J. Townsend, "Differentiating the singular value decomposition" (2016).
        (a,), (t,) = primals, tangents
        s, u, vt = self.bind(a, full_matrices=False, compute_uv=True, **params)
        if compute_uv and full_matrices:
            raise NotImplementedError("Singular value decomposition JVP not implemented for full matrices")
        ut, v = adjoint(u), adjoint(vt)
        row = expand_dims(s, (np.ndim(s) - 1,))
        turned = _product(_product(ut, t, Precision.HIGHEST), v, Precision.HIGHEST)
        s_dot = _diagonal(_real(turned))
        if not compute_uv:
            return [s], [s_dot]
        u_dot, v_dot = _singular_vector_tangents(t, s, row, (u, ut), (v, vt), turned)
        return [s, u, vt], [s_dot, u_dot, adjoint(v_dot)]


def _singular_vector_tangents(t: Any, s: Any, row: Any, us: tuple[Any, Any], vs: tuple[Any, Any],
                              turned: Any) -> tuple[Any, Any]:
    (u, ut), (v, vt) = us, vs
    column = swapped(row)
    gaps = mul(add(row, column), sub(row, swapped(row)))
    eye = expand_dims(identity_matrix(dtype_of(s), np.shape(s)[-1]), range(np.ndim(gaps) - 2))
    inverse_gaps = sub(div(const_like(s, 1), add(gaps, eye)), eye)
    right, left = mul(_like(row, t), turned), mul(swapped(_like(row, t)), turned)
    is_zero = convert_element_type(eq(s, const_like(s, 0)), dtype_of(s))
    inverse = _diagonal_matrix(sub(div(const_like(s, 1), add(s, is_zero)), is_zero))
    on_diagonal = mul(mul(const_like(turned, 0.5), sub(turned, adjoint(turned))), _like(inverse, t))
    u_dot = _exactly(u, add(mul(_like(inverse_gaps, t), add(right, adjoint(right))), on_diagonal))
    v_dot = _exactly(v, mul(_like(inverse_gaps, t), add(left, adjoint(left))))
    m, n = np.shape(t)[-2:]
    if m > n:
        outside = _exactly(t, v)
        u_dot = add(u_dot, div(sub(outside, _exactly(u, _exactly(ut, outside))), _like(row, t)))
    if n > m:
        outside = _exactly(adjoint(t), u)
        v_dot = add(v_dot, div(sub(outside, _exactly(v, _exactly(vt, outside))), _like(row, t)))
    return u_dot, v_dot


lu_p = LU()
qr_p = QR()
eigh_p = Eigh()
svd_p = SVD()


# --- steps of the rules ------------------------------------------------------------------------------------------

def _product(x: Any, y: Any, precision: Precision | None = None) -> Any:
    """Multiply matrices with the equation that numpy's `@` writes."""
    ndim = np.ndim(x)
    batch = tuple(range(ndim - 2))
    return dot_general(x, y, (((ndim - 1,), (ndim - 2,)), (batch, batch)), precision, dtype_of(x))


def _real(x: Any) -> Any:
    return real(x) if is_complex(dtype_of(x)) else x


def _like(x: Any, other: Any) -> Any:
    """Return real numbers in the type of the matrices that they go with."""
    return convert_element_type(x, dtype_of(other))


def _exactly(x: Any, y: Any) -> Any:
    return _product(x, y, Precision.HIGHEST)


def _diagonal_positions(at: Any, n: int) -> Any:
    """Return the rows (k, k) for k in `at`: i32[n], with the equations of numpy's indexing by two index arrays."""
    columns = [wrapped(at, n), wrapped(at, n)]
    return concatenate([broadcast_in_dim(column, (n, 1), (0,)) for column in columns], 1)


def _diagonal(x: Any) -> Any:
    shape = np.shape(x)
    batch, n = tuple(range(len(shape) - 2)), min(shape[-2:])
    last = (len(batch), len(batch) + 1)
    found = gather(x, _diagonal_positions(iota(np.int32, n), n), GatherDimensionNumbers(batch, last, last),
                   (*shape[:-2], 1, 1))
    return expand_dims(found, ())


def _diagonal_matrix(s: Any) -> Any:
    shape = np.shape(s)
    batch, n = tuple(range(len(shape) - 1)), shape[-1]
    last = (len(batch), len(batch) + 1)
    at = iota(np.int32, n)
    zeros = full((*shape, n), 0, dtype_of(s))
    return scatter(zeros, _diagonal_positions(at, n), s, ScatterDimensionNumbers(batch, last, last))


def rows_at(x: Any, rows: Any) -> Any:
    """Return the rows of each matrix in the order `rows`: i32[..., m]."""
    batch, m = np.shape(x)[:-2], np.shape(x)[-2]
    for axis, size in enumerate((*batch, 1)):
        shape = [1] * (len(batch) + 1)
        shape[axis] = size
        broadcasted_iota(np.int32, shape, axis)  # JAX counts the batch for its index, and leaves these behind
    at = expand_dims(wrapped(rows, m), (len(batch) + 1,))
    dims = tuple(range(len(batch)))
    numbers = GatherDimensionNumbers((len(batch) + 1,), (len(batch),), (len(batch),), dims, dims)
    return expand_dims(gather(x, at, numbers, (*[1] * (len(batch) + 1), np.shape(x)[-1])), ())


def _leading(x: Any, k: int, axis: int) -> Any:
    """Return the first `k` elements along `axis`, with the equations of numpy's indexing `x[..., :k]`."""
    shape = np.shape(x)
    if shape[axis] == k:
        return x
    numbers = GatherDimensionNumbers(tuple(range(len(shape))), (), (axis,))
    found = gather(x, broadcast_in_dim(np.int32(0), (1,), ()), numbers, (*shape[:axis], k, *shape[axis + 1:]),
                   unique_indices=True, indices_are_sorted=True)
    return expand_dims(found, ())


# --- steps in NumPy ----------------------------------------------------------------------------------------------

def _eliminate(a: NDArray, pivots: NDArray, rows: NDArray) -> None:
    """Factor one matrix in place by elimination, with the largest element of the column as pivot."""
    rows[:] = np.arange(len(a))
    for k in range(len(pivots)):
        column = a[k:, k]  # LAPACK takes the sum of the parts' sizes for the size of a complex number
        pivot = k + int(np.argmax(np.abs(column.real) + np.abs(column.imag)))
        pivots[k] = pivot
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            rows[[k, pivot]] = rows[[pivot, k]]
        if a[k, k] != 0:
            a[k + 1:, k] /= a[k, k]
            a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])


def slice_of(bounds: tuple[int, int] | None) -> Any:
    """Return the Python slice from one bound to the other; None is everything."""
    return np.s_[:] if bounds is None else np.s_[bounds[0]:bounds[1]]


def _wide(x: NDArray) -> np.dtype[Any]:
    return FLOAT32 if x.dtype.itemsize == 2 else x.dtype
