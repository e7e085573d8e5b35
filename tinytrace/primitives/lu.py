"""The LU factorization, over the last two dimensions: elimination with exchanges of rows."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import INT32, dtype_of
from tinytrace.core.kinds import Kind
from tinytrace.core.tangents import Zero
from tinytrace.primitives.arithmetic import add
from tinytrace.primitives.broadcasting import broadcast_in_dim, expand_dims
from tinytrace.primitives.creation import broadcasted_iota
from tinytrace.primitives.elementwise import const_like
from tinytrace.primitives.factorization import Factorization, batched_product, wide_dtype
from tinytrace.primitives.gathering import gather, wrapped
from tinytrace.primitives.indexing import GatherDimensionNumbers
from tinytrace.primitives.lapack import by_lapack, in_program, ins, is_small, outs
from tinytrace.primitives.precision import Precision
from tinytrace.primitives.shaping import NDArray
from tinytrace.primitives.slicing import pad
from tinytrace.primitives.triangular import (
    identity_matrix,
    lower_part,
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


class LU(Factorization):
    """`lu a: f32[m,n]` is f32[m,n], i32[min(m,n)], i32[m]."""

    name = "lu"

    def abstract_eval(self, x: ShapedArray) -> list[ShapedArray]:
        self.check_matrix(x, "LU")
        *batch, m, n = x.shape
        return [x, x.update(shape=(*batch, min(m, n)), dtype=INT32), x.update(shape=(*batch, m), dtype=INT32)]

    def impl(self, x: NDArray) -> list[NDArray]:
        *batch, m, n = x.shape
        out = np.array(x, wide_dtype(x))
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
        left_dot = batched_product(left, lower_part(middle, -1), Precision.HIGHEST)
        right_dot = batched_product(upper_part(middle), right, Precision.HIGHEST)
        return [both, pivots, rows], [add(left_dot, right_dot), *map(Zero.from_primal_value, (pivots, rows))]

    def lower_wide(self, in_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        x, = in_avals
        m, n = x.shape[-2:]
        if is_small(x):
            return in_program("lu", x, m * n * min(m, n) * 2 / 3, *ins(0), *outs(0, 1, 2), m, n)
        return by_lapack("getrf", x, m, n, *ins(0), *outs(0, 1, 2))


lu_p = LU()


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
