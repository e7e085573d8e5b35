"""Sorting that also tells where each element was: the order, which is found anyway. A pass makes it of an iota."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import INT32
from tinytrace.core.formulas import cast, place
from tinytrace.core.kinds import Kind, Routine
from tinytrace.core.primitive import ALL, Primitive, refuse
from tinytrace.primitives.broadcasting import broadcast_in_dim
from tinytrace.primitives.shaping import NDArray, moveaxis
from tinytrace.primitives.sorting import find_order, sort_p, sorted_by, take


class SortWithPositions(Primitive):
    """`sort_with_positions[num_keys=1] keys: f32[m,n] values: i32[m,n]` is f32[m,n], i32[m,n], i32[m,n].

    These are the operands, sorted along the last axis by the first `num_keys` of them, and the places they come from.
    """

    name = "sort_with_positions"
    multiple_results = True
    reads = ALL

    def abstract_eval(self, *avals: ShapedArray, num_keys: int) -> list[ShapedArray]:
        if len({aval.shape for aval in avals}) != 1 or not avals[0].shape:
            raise TypeError(f"arrays of one shape are sorted, got {', '.join(map(str, avals))}")
        return [*avals, ShapedArray(avals[0].shape, INT32)]

    def impl(self, *args: NDArray, num_keys: int) -> list[NDArray]:
        shape = args[0].shape
        positions = np.broadcast_to(np.arange(shape[-1], dtype=np.int32), shape)
        return sort_p.impl(*args, positions, dimension=len(shape) - 1, is_stable=True, num_keys=num_keys)

    jvp = refuse("what it is made of has been differentiated")

    transpose = refuse("an order is not linear in the elements")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, num_keys: int) -> tuple[Any, Any]:
        size = next(np.shape(x)[d] for x, d in zip(args, dims, strict=True) if d is not None)
        moved = [broadcast_in_dim(x, (size, *np.shape(x)), range(1, np.ndim(x) + 1)) if d is None else moveaxis(x, d, 0)
                 for x, d in zip(args, dims, strict=True)]
        outs = self.bind(*moved, num_keys=num_keys)
        return outs, [0] * len(outs)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, num_keys: int) -> Kind:
        shape = in_avals[0].shape
        lines, order = (math.prod(shape[:-1]), shape[-1], 1), cast("uint32_t *", place(f"out{len(in_avals)}"))
        calls = [*find_order(in_avals[:num_keys], lines, order),
                 *(take(k, aval, lines, order) for k, aval in enumerate(in_avals))]
        return Routine(tuple(calls), has_status=True, separate=len(in_avals),
                       alone=sorted_by(in_avals, num_keys, lines, order))


sort_with_positions_p = SortWithPositions()
