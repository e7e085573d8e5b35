"""Triangular matrices: parts of a matrix, triangular_solve, and the Cholesky factorization.

All work on the last two dimensions of their operands.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT32, dtype_of, is_complex, is_inexact
from tinytrace.core.kinds import Kind
from tinytrace.core.primitive import refuse
from tinytrace.core.tangents import Zero
from tinytrace.primitives.arithmetic import add, div
from tinytrace.primitives.broadcasting import batch_dim_at_front, broadcast, expand_dims, squeeze
from tinytrace.primitives.checks import check_same_dtypes
from tinytrace.primitives.comparison import eq, ge
from tinytrace.primitives.complex_numbers import conj
from tinytrace.primitives.contraction import batch_matmul
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.creation import broadcasted_iota
from tinytrace.primitives.elementwise import add_any, const_like, filled_like, neg
from tinytrace.primitives.lapack import OnMatrices, by_lapack, in_program, ins, is_small, not_found, outs
from tinytrace.primitives.precision import Precision
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import NDArray, moveaxis, reshape, transpose
from tinytrace.primitives.slicing import slice


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """Return lower triangular L with L @ L.T = x: f32[..., n, n]; NaN where `x` is not positive definite.

    symmetrize_input: take the mean of `x` and its transpose first; otherwise only its lower triangle is read.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.cholesky.html.

    >>> cholesky(np.float32([[4, 2], [2, 5]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    return lower_part(cholesky_p.bind(symmetrized(x) if symmetrize_input else x))


def triangular_solve(a: Any, b: Any, *, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
                     conjugate_a: bool = False, unit_diagonal: bool = False) -> Any:
    """Solve X @ A = b (or A @ X = b when `left_side`) for triangular a: f32[..., n, n], of which one triangle is read.

    transpose_a, conjugate_a: solve with the transpose, or with the conjugate; unit_diagonal: take the diagonal as ones.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.triangular_solve.html.

    >>> triangular_solve(np.float32([[2, 0], [1, 1]]), np.float32([[2], [3]]), left_side=True, lower=True)
    Array([[1.],
           [2.]], dtype=float32)
    """
    is_vector = np.ndim(b) == np.ndim(a) - 1
    if is_vector:
        b = expand_dims(b, (-1 if left_side else -2,))
    out = triangular_solve_p.bind(a, b, left_side=left_side, lower=lower, transpose_a=transpose_a,
                                  conjugate_a=conjugate_a and is_complex(dtype_of(a)), unit_diagonal=unit_diagonal)
    if not is_vector:
        return out
    shape = np.shape(out)
    return squeeze(slice(out, (0,) * len(shape), shape), (len(shape) - (1 if left_side else 2),))


# --- parts of matrices -----------------------------------------------------------------------------------------

def lower_part(x: Any, k: int = 0) -> Any:
    """Return `x` with zeros above its diagonal number `k`."""
    return select(broadcast(_below(x, k), np.shape(x)[:-2]), x, filled_like(x, 0))


def upper_part(x: Any, k: int = 0) -> Any:
    """Return `x` with zeros below its diagonal number `k`."""
    return select(broadcast(_below(x, k - 1), np.shape(x)[:-2]), filled_like(x, 0), x)


def identity_matrix(dtype: Any, n: int) -> Any:
    """Return the n by n matrix with ones on its diagonal."""
    rows = add(broadcasted_iota(np.int32, (n, n), 0), np.int32(0))
    return convert_element_type(eq(rows, broadcasted_iota(np.int32, (n, n), 1)), dtype)


def swapped(x: Any) -> Any:
    """Return the transposes of the matrices `x`."""
    ndim = np.ndim(x)
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def adjoint(x: Any) -> Any:
    """Return the conjugate transposes of the matrices `x`."""
    return conj(swapped(x)) if is_complex(dtype_of(x)) else swapped(x)


def symmetrized(x: Any) -> Any:
    """Return the mean of `x` and its conjugate transpose."""
    return div(add(x, adjoint(x)), const_like(x, 2))


def exact_product(x: Any, y: Any) -> Any:
    """Multiply matrices with the highest precision."""
    return batch_matmul(x, y, Precision.HIGHEST)


def _below(x: Any, k: int) -> Any:
    shape = np.shape(x)[-2:]
    return ge(add(broadcasted_iota(np.int32, shape, 0), np.int32(k)), broadcasted_iota(np.int32, shape, 1))


# --- rooms -----------------------------------------------------------------------------------------------------

class Cholesky(OnMatrices):
    """`cholesky a: f32[n,n]` is f32[n,n], whose upper triangle means nothing."""

    name = "cholesky"

    def abstract_eval(self, x: ShapedArray) -> ShapedArray:
        if not is_inexact(x.dtype):
            raise TypeError(f"cholesky does not accept dtype {x.dtype.name}. Accepted dtypes are subtypes of floating, "
                            "complexfloating.")
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise TypeError(f"cholesky requires an array of square matrices [..., n, n], got shape {x.shape}.")
        return x

    def impl(self, x: NDArray) -> NDArray:
        out = np.empty(x.shape, x.dtype)
        for where in np.ndindex(x.shape[:-2]):
            try:
                out[where] = np.linalg.cholesky(x[where].astype(_lapack_dtype(x.dtype)))
            except np.linalg.LinAlgError:
                out[where] = not_found(x.dtype)
            if np.isnan(out[where].diagonal()).any():
                out[where] = not_found(x.dtype)
        return out

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        # Source: I. Murray, "Differentiation of the Cholesky decomposition", arXiv 1602.07527.
        (x,), (t,) = primals, tangents
        factor = lower_part(self.bind(x))
        right = triangular_solve(factor, t, left_side=False, transpose_a=True, conjugate_a=True, lower=True)
        both = lower_part(triangular_solve(factor, right, left_side=True, lower=True))
        halved = add(const_like(both, 1), identity_matrix(dtype_of(both), np.shape(both)[-1]))
        halved = div(both, expand_dims(halved, range(np.ndim(both) - 2)))
        return factor, exact_product(factor, halved)

    transpose = refuse("a factorization is not linear")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        return cholesky(moveaxis(x, dim, 0)), 0

    def lower_wide(self, in_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        x, = in_avals
        n = x.shape[-1]
        if is_small(x):
            return in_program("cholesky", x, n**3 / 3, *ins(0), *outs(0), n)
        return by_lapack("potrf", x, n, *ins(0), *outs(0))


class TriangularSolve(OnMatrices):
    """`triangular_solve[left_side=True ...] a: f32[n,n] b: f32[n,k]` is f32[n,k]."""

    name = "triangular_solve"

    def abstract_eval(self, a: ShapedArray, b: ShapedArray, *, left_side: bool, **params: Any) -> ShapedArray:
        for name, aval in (("a", a), ("b", b)):
            if aval.ndim < 2:
                raise TypeError(f"triangular_solve requires {name}.ndim to be at least 2, got {aval.ndim}.")
        if a.shape[-1] != a.shape[-2]:
            raise TypeError("triangular_solve requires the last two dimensions of a to be equal in size, got a.shape "
                            f"of {a.shape}.")
        if a.shape[:-2] != b.shape[:-2]:
            raise TypeError("triangular_solve requires both arguments to have the same number of dimensions and equal "
                            f"batch dimensions, got {a.shape} and {b.shape}.")
        if a.shape[-1] != b.shape[-2 if left_side else -1]:
            raise TypeError(f"Incompatible shapes for arguments to triangular_solve: {a.shape} and {b.shape}.")
        check_same_dtypes("triangular_solve", a, b)
        return b.update(weak_type=a.weak_type and b.weak_type)

    def impl(self, a: NDArray, b: NDArray, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
             unit_diagonal: bool) -> NDArray:
        wide = _lapack_dtype(b.dtype)
        a, x = (a.conj() if conjugate_a else a).astype(wide), np.array(b, wide)
        if left_side == transpose_a:  # X op(A) = B is op(A)' X' = B'
            a, lower = a.swapaxes(-1, -2), not lower
        x = x if left_side else x.swapaxes(-1, -2)
        n = a.shape[-1]
        for i in range(n) if lower else range(n - 1, -1, -1):
            known = np.s_[:i] if lower else np.s_[i + 1:]
            x[..., i, :] -= (a[..., i, None, known] @ x[..., known, :])[..., 0, :]
            if not unit_diagonal:
                x[..., i, :] /= a[..., i, i, None]
        return (x if left_side else x.swapaxes(-1, -2)).astype(b.dtype)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (a, b), (a_dot, b_dot) = primals, tangents
        out = self.bind(a, b, **params)
        parts = [] if type(a_dot) is Zero else [self._change_by(a_dot, out, a, **params)]
        if type(b_dot) is not Zero:
            parts.append(self.bind(a, b_dot, **params))
        return out, parts[0] if len(parts) == 1 else add_any(*parts)

    def _change_by(self, a_dot: Any, x: Any, a: Any, *, left_side: bool, lower: bool, transpose_a: bool,
                   conjugate_a: bool, unit_diagonal: bool) -> Any:
        """Return -op(A)^-1 op(dA) X, multiplied in the cheaper order."""
        k = 1 if unit_diagonal else 0
        a_dot = neg(lower_part(a_dot, -k) if lower else upper_part(a_dot, k))
        a_dot = swapped(a_dot) if transpose_a else a_dot
        a_dot = conj(a_dot) if conjugate_a else a_dot
        rows, columns = np.shape(x)[-2:]

        def solved(rhs: Any) -> Any:
            return self.bind(a, rhs, left_side=left_side, lower=lower, transpose_a=transpose_a,
                             conjugate_a=conjugate_a, unit_diagonal=unit_diagonal)

        if left_side:
            return solved(exact_product(a_dot, x)) if rows > columns else exact_product(solved(a_dot), x)
        return solved(exact_product(x, a_dot)) if rows < columns else exact_product(x, solved(a_dot))

    def transpose(self, ct: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any) -> Sequence[Any]:
        return [None, self.bind(a, ct, transpose_a=not transpose_a, **params)]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, left_side: bool,
              **params: Any) -> tuple[Any, Any]:
        (a, b), (dim, b_dim) = args, dims
        if dim is not None:
            size = np.shape(a)[dim]
            front = [batch_dim_at_front(x, d, size) for x, d in ((a, dim), (b, b_dim))]
            return self.bind(*front, left_side=left_side, **params), 0
        assert b_dim is not None  # one matrix, more right hand sides
        axis = np.ndim(b) - (1 if left_side else 2)
        b = moveaxis(b, b_dim, axis)
        shape = np.shape(b)
        joined = (*shape[:-2], shape[-2] * shape[-1]) if left_side else (*shape[:-3], shape[-3] * shape[-2], shape[-1])
        return reshape(self.bind(a, reshape(b, joined), left_side=left_side, **params), shape), axis

    def lower_wide(self, in_avals: Sequence[ShapedArray], *, left_side: bool, lower: bool,
                   transpose_a: bool, conjugate_a: bool, unit_diagonal: bool) -> Kind:
        a, b = in_avals
        n, k = a.shape[-1], b.shape[-1 if left_side else -2]
        if not (is_small(a) and k <= MANY):
            return by_lapack("trsm", a, n, k, int(left_side), int(lower), int(transpose_a), int(conjugate_a),
                             int(unit_diagonal), *ins(0, 1), *outs(0))
        as_it_is = left_side != transpose_a  # X op(A) = B is op(A)' X' = B'
        row, column = (n, 1) if as_it_is else (1, n)
        step, side = (k, 1) if left_side else (1, n)
        return in_program("solve_triangular", a, n * n * k, *ins(0, 1), *outs(0), n, k, row, column, step, side,
                          int(lower != as_it_is), int(unit_diagonal))


MANY = 64
"""More right sides than this are left to LAPACK, also if the matrix is small."""

cholesky_p = Cholesky()
triangular_solve_p = TriangularSolve()


def _lapack_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return FLOAT32 if dtype.itemsize == 2 else dtype
