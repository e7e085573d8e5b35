"""Factorizations of matrices: qr, eigh and svd, over the last two dimensions."""
from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT32, dtype_of, is_complex, is_inexact, part_dtype
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import refuse
from tinytrace.primitives.arithmetic import add, div, integer_pow, mul, sub
from tinytrace.primitives.broadcasting import broadcast_in_dim, broadcast_to_rank, expand_dims
from tinytrace.primitives.comparison import eq
from tinytrace.primitives.complex_numbers import real
from tinytrace.primitives.composite import recorded
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.contraction import dot_general
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.creation import full, iota
from tinytrace.primitives.elementwise import const_like
from tinytrace.primitives.gathering import gather, wrapped
from tinytrace.primitives.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from tinytrace.primitives.lapack import NOTHING, OnMatrices, by_lapack, in_program, ins, is_small, not_found, outs
from tinytrace.primitives.precision import Precision
from tinytrace.primitives.scattering import scatter
from tinytrace.primitives.shaping import NDArray, moveaxis
from tinytrace.primitives.slicing import slice
from tinytrace.primitives.triangular import (
    adjoint,
    exact_product,
    identity_matrix,
    lower_part,
    swapped,
    symmetrized,
    triangular_solve,
)


class SvdAlgorithm(enum.Enum):
    """Ways to find singular values; on a CPU there is the default alone, as in JAX."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"


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

class Factorization(OnMatrices):
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


class QR(Factorization):
    """`qr[full_matrices=False] a: f32[m,n]` is f32[m,k], f32[k,n] with k = min(m, n)."""

    name = "qr"

    def abstract_eval(self, x: ShapedArray, *, full_matrices: bool) -> list[ShapedArray]:
        self.check_matrix(x, "QR")
        *batch, m, n = x.shape
        k = m if full_matrices else min(m, n)
        return [x.update(shape=(*batch, m, k)), x.update(shape=(*batch, k, n))]

    def impl(self, x: NDArray, *, full_matrices: bool) -> list[NDArray]:
        q, r = np.linalg.qr(x.astype(wide_dtype(x)), "complete" if full_matrices else "reduced")
        return [q.astype(x.dtype), r.astype(x.dtype)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool) -> tuple[Any, Any]:
        # Source: J. Townsend, "Differentiating the QR decomposition" (j-towns.github.io/papers/qr-derivative.pdf).
        (x,), (t,) = primals, tangents
        q, r = self.bind(x, full_matrices=False)
        m, n = np.shape(x)[-2:]
        if m < n or (full_matrices and m != n):
            raise NotImplementedError("Unimplemented case of QR decomposition derivative")
        t_over_r = triangular_solve(r, t)
        turned = batched_product(adjoint(q), t_over_r)
        below = lower_part(turned, -1)
        skew = sub(below, adjoint(below))
        # As in JAX, the diagonal of the imaginary part is added: of real numbers it is zero.
        eye = expand_dims(identity_matrix(dtype_of(skew), n), range(np.ndim(skew) - 2))
        skew = add(skew, mul(eye, sub(turned, _like(_real(turned), turned))))
        return [q, r], [add(batched_product(q, sub(skew, turned)), t_over_r), batched_product(sub(turned, skew), r)]

    def lower_wide(self, in_avals: Sequence[ShapedArray], *, full_matrices: bool) -> Kind:
        x, = in_avals
        m, n = x.shape[-2:]
        if is_small(x, 16):  # compiling more takes long
            wide = m if full_matrices else min(m, n)
            return in_program("qr", x, 2 * m * min(m, n) * (n + wide), *ins(0), *outs(0, 1), m, n, wide)
        return by_lapack("geqrf", x, m, n, int(full_matrices), *ins(0), *outs(0, 1))


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
        vectors, values = np.empty(x.shape, wide_dtype(x)), np.empty(x.shape[:-1], part_dtype(wide_dtype(x)))
        for where in np.ndindex(x.shape[:-2]):
            try:
                values[where], vectors[where] = np.linalg.eigh(x[where].astype(wide_dtype(x)), "L" if lower else "U")
            except np.linalg.LinAlgError:  # it did not converge
                values[where], vectors[where] = np.nan, not_found(x.dtype)
            if not np.isfinite(x[where]).all():
                values[where], vectors[where] = np.nan, not_found(x.dtype)
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

    def lower_wide(self, in_avals: Sequence[ShapedArray], *, lower: bool, sort_eigenvalues: bool,
                   subset_by_index: tuple[int, int] | None) -> Kind:
        x, = in_avals
        n = x.shape[-1]
        if subset_by_index not in (None, (0, n)):
            def program(a: Any) -> list[Any]:
                found = self.bind(a, lower=lower, sort_eigenvalues=sort_eigenvalues, subset_by_index=None)
                return [_part(out, subset_by_index, -1) for out in found]

            return Call(recorded(program, in_avals))
        if is_small(x, 8) and n:
            return in_program("eigh", x, 9 * n**3, *ins(0), *outs(0, 1), n, int(lower))
        return by_lapack("syevd", x, n, int(lower), *ins(0), *outs(0, 1))


class EighValues(Factorization):
    """`eigh_values[lower=True] a: f32[n,n]` is f32[n], the eigenvalues of `eigh` alone. A pass makes it."""

    name = "eigh_values"

    def abstract_eval(self, x: ShapedArray, *, lower: bool) -> list[ShapedArray]:
        self.check_matrix(x, "symmetric eigen")
        return [x.update(shape=x.shape[:-1], dtype=part_dtype(x.dtype))]

    def impl(self, x: NDArray, *, lower: bool) -> list[NDArray]:
        return eigh_p.impl(x, lower=lower, sort_eigenvalues=True, subset_by_index=None)[1:]

    jvp = refuse("what it is made of has been differentiated")

    def lower_wide(self, in_avals: Sequence[ShapedArray], *, lower: bool) -> Kind:
        x, = in_avals
        return by_lapack("syevd", x, x.shape[-1], int(lower), *ins(0), NOTHING, *outs(0))


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
        _check_algorithm(algorithm)
        kept = slice_of(subset_by_index)
        wide, finite = x.astype(wide_dtype(x)), np.isfinite(x).all((-2, -1))
        wide[~finite] = 0
        if not compute_uv:
            s = np.linalg.svd(wide, compute_uv=False)
            s[~finite] = np.nan
            return [s[..., kept].astype(part_dtype(x.dtype))]
        u, s, vt = np.linalg.svd(wide, full_matrices)
        u[~finite], s[~finite], vt[~finite] = not_found(u.dtype), np.nan, not_found(vt.dtype)
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
        turned = batched_product(batched_product(ut, t, Precision.HIGHEST), v, Precision.HIGHEST)
        s_dot = _diagonal(_real(turned))
        if not compute_uv:
            return [s], [s_dot]
        u_dot, v_dot = _singular_vector_tangents(t, s, row, (u, ut), (v, vt), turned)
        return [s, u, vt], [s_dot, u_dot, adjoint(v_dot)]

    def lower_wide(self, in_avals: Sequence[ShapedArray], *, full_matrices: bool, compute_uv: bool,
                   subset_by_index: tuple[int, int] | None, algorithm: Any) -> Kind:
        _check_algorithm(algorithm)
        x, = in_avals
        m, n = x.shape[-2:]
        if subset_by_index not in (None, (0, min(m, n))):
            def program(a: Any) -> list[Any]:
                found = self.bind(a, full_matrices=False, compute_uv=compute_uv, subset_by_index=None,
                                  algorithm=algorithm)
                return [_part(out, subset_by_index, axis) for out, axis in zip(found, (-1, -1, -2), strict=False)]

            return Call(recorded(program, in_avals))
        vectors = outs(1, 2) if compute_uv else [NOTHING, NOTHING]
        return by_lapack("gesdd", x, m, n, int(full_matrices), *ins(0), *outs(0), *vectors)


def _check_algorithm(algorithm: Any) -> None:
    if algorithm is not None and algorithm is not SvdAlgorithm.DEFAULT:
        raise NotImplementedError("The SVD algorithm parameter is not implemented on CPU.")


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


qr_p = QR()
eigh_p = Eigh()
eigh_values_p = EighValues()
svd_p = SVD()


# --- steps of the rules ------------------------------------------------------------------------------------------

def batched_product(x: Any, y: Any, precision: Precision | None = None) -> Any:
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
    return batched_product(x, y, Precision.HIGHEST)


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


def _part(x: Any, bounds: Any, axis: int) -> Any:
    """Return the elements from one bound to the other along an axis."""
    starts, limits = [0] * np.ndim(x), list(np.shape(x))
    starts[axis], limits[axis] = bounds[0], min(bounds[1], limits[axis])
    return slice(x, starts, limits)


# --- steps in NumPy ----------------------------------------------------------------------------------------------

def slice_of(bounds: tuple[int, int] | None) -> Any:
    """Return the Python slice from one bound to the other; None is everything."""
    return np.s_[:] if bounds is None else np.s_[bounds[0]:bounds[1]]


def wide_dtype(x: NDArray) -> np.dtype[Any]:
    """Return the type in which NumPy factors matrices."""
    return FLOAT32 if x.dtype.itemsize == 2 else x.dtype
