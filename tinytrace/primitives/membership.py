"""Which elements of a line are among the elements of another, without comparing all pairs. A pass makes them."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BOOL, is_complex, part_dtype
from tinytrace.core.formulas import call_host, place
from tinytrace.core.kinds import Kind, Routine
from tinytrace.core.primitive import ALL, Primitive, refuse
from tinytrace.primitives.broadcasting import broadcast_in_dim
from tinytrace.primitives.shaping import NDArray, moveaxis
from tinytrace.primitives.sorting import how_compared


class IsMember(Primitive):
    """`is_member[batch_dims=1] x: f32[b,n] y: f32[b,m]` is bool[b,n]: is `x[k, i]` equal to an element of `y[k]`?"""

    name = "is_member"
    reads = ALL

    def abstract_eval(self, x: ShapedArray, y: ShapedArray, *, batch_dims: int) -> ShapedArray:
        if x.dtype != y.dtype or x.shape[:batch_dims] != y.shape[:batch_dims]:
            raise TypeError(f"is_member needs equal types, and {batch_dims} equal dimensions, got {x} and {y}")
        return ShapedArray(x.shape, BOOL)

    def impl(self, x: NDArray, y: NDArray, *, batch_dims: int) -> NDArray:
        found = np.zeros(x.shape, bool)
        for line in np.ndindex(*x.shape[:batch_dims]):
            found[line] = (x[line][..., None] == y[line].reshape(-1)).any(-1)
        return found

    jvp = refuse("what it is made of has been differentiated")

    transpose = refuse("the answer is a truth value")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, batch_dims: int) -> tuple[Any, Any]:
        size = next(np.shape(x)[d] for x, d in zip(args, dims, strict=True) if d is not None)
        x, y = (broadcast_in_dim(x, (size, *np.shape(x)), range(1, 1 + np.ndim(x))) if d is None else moveaxis(x, d, 0)
                for x, d in zip(args, dims, strict=True))
        return self.bind(x, y, batch_dims=batch_dims + 1), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, batch_dims: int) -> Kind:
        x, y = in_avals
        part = x.update(dtype=part_dtype(x.dtype)) if is_complex(x.dtype) else x
        parts = x.dtype.itemsize // part.dtype.itemsize
        call = call_host("is_member", *how_compared(part), parts, math.prod(x.shape[:batch_dims]),
                         math.prod(x.shape[batch_dims:]), math.prod(y.shape[batch_dims:]),
                         *map(place, ("in0", "in1", "out0")))
        return Routine((call,), has_status=True, takes_complex=True)


is_member_p = IsMember()
