"""From the pivots of an LU factorization, which are exchanges of rows, to the permutation that they make."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.formulas import call_named, place
from tinytrace.core.kinds import Kind, Routine
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.primitives.shaping import NDArray, moveaxis


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """Return the permutation i32[..., n] of rows for `pivots: i32[..., k]`, exchanges of row i with row pivots[i].

    Raises: ValueError unless pivots are a vector of 32-bit integers, not more than `permutation_size`.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.linalg.lu_pivots_to_permutation.html.

    >>> lu_pivots_to_permutation(np.int32([2, 2]), 3)
    Array([2, 0, 1], dtype=int32)
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=permutation_size)


class LUPivotsToPermutation(Primitive):
    """`lu_pivots_to_permutation[permutation_size=4] pivots: i32[3]` is i32[4]."""

    name = "lu_pivots_to_permutation"

    def abstract_eval(self, pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
        if pivots.ndim < 1 or pivots.dtype not in (np.int32, np.uint32):
            raise ValueError("Argument to lu_pivots_to_permutation must have rank >= 1 and dtype int32. Got "
                             f"shape={pivots.shape} and dtype={pivots.dtype}")
        if permutation_size < pivots.shape[-1]:
            raise ValueError(f"Output permutation size {permutation_size} has to exceed the trailing dimension of the "
                             f"pivots. Got pivots size {pivots.shape[-1]}")
        return pivots.update(shape=(*pivots.shape[:-1], permutation_size))

    def impl(self, pivots: NDArray, *, permutation_size: int) -> NDArray:
        batch = pivots.shape[:-1]
        rows = np.broadcast_to(np.arange(permutation_size, dtype=pivots.dtype), (*batch, permutation_size)).copy()
        for where in np.ndindex(*batch):
            for i, j in enumerate(pivots[where]):
                if 0 <= j < permutation_size:
                    rows[where][[i, j]] = rows[where][[j, i]]
        return rows

    jvp = refuse("integers have no tangent")
    transpose = refuse("integers have no tangent")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, permutation_size: int) -> tuple[Any, Any]:
        (pivots,), (dim,) = args, dims
        assert dim is not None
        return self.bind(moveaxis(pivots, dim, 0), permutation_size=permutation_size), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              permutation_size: int) -> Kind:
        pivots, = in_avals
        call = call_named("tt_permutation", place("in0"), place("out0"), pivots.shape[-1], permutation_size)
        return Routine((call,), batch=pivots.shape[:-1], flops=4 * permutation_size)


lu_pivots_to_permutation_p = LUPivotsToPermutation()
