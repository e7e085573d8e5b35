"""Some neighbours of a sorted line, without the others: medians, quantiles, the smallest few. A pass makes them."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.formulas import call_host, place
from tinytrace.core.kinds import Kind, Routine
from tinytrace.core.primitive import ALL, Primitive, refuse
from tinytrace.primitives.shaping import NDArray, moveaxis
from tinytrace.primitives.sorting import how_compared, sort_p


class OrderStatistics(Primitive):
    """`order_statistics[first=3 count=2] x: f32[m,n]` is f32[m,2]: places 3 and 4 of `x` sorted along its last axis."""

    name = "order_statistics"
    reads = ALL

    def abstract_eval(self, x: ShapedArray, *, first: int, count: int) -> ShapedArray:
        if not 0 <= first <= first + count <= x.shape[-1]:
            raise ValueError(f"places [{first}, {first + count}) of lines of {x.shape[-1]}")
        return x.update(shape=(*x.shape[:-1], count))

    def impl(self, x: NDArray, *, first: int, count: int) -> NDArray:
        line, = sort_p.impl(x, dimension=np.ndim(x) - 1, is_stable=True, num_keys=1)
        return line[..., first:first + count]

    jvp = refuse("what it is made of has been differentiated")

    transpose = refuse("an order is not linear in the elements")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, first: int, count: int) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        return self.bind(moveaxis(x, dim, 0), first=first, count=count), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, first: int,
              count: int) -> Kind:
        x, = in_avals
        call = call_host("select", *how_compared(x), math.prod(x.shape[:-1]), x.shape[-1], first, count, place("in0"),
                         place("out0"))
        return Routine((call,), has_status=True)


order_statistics_p = OrderStatistics()
