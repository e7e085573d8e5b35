"""`scan`: a loop with a known number of steps, a carry, sliced inputs `xs` and stacked outputs `ys`.

Operands are consts..., carry..., xs...; the body maps (consts, carry, one slice of xs) to (carry, one slice of ys).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.control_flow.bodies import run_body, split
from tinytrace.core.array import storage_dtype
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.kinds import Kind, Loop
from tinytrace.core.primitive import Primitive


class Scan(Primitive):
    """`carry, ys = scan[jaxpr length reverse ...] consts carry xs`, one step per slice along axis 0 of xs."""

    name = "scan"
    multiple_results = True
    compiled_eagerly = True

    def effects(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
        return jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, length: int, num_carry: int,
                      **params: Any) -> list[ShapedArray]:
        carry, ys = split(jaxpr.out_avals, num_carry)
        return [*carry, *(stacked(length, y) for y in ys)]

    def impl(self, *args: Any, jaxpr: ClosedJaxpr, length: int, reverse: bool, num_consts: int, num_carry: int,
             **params: Any) -> list[Any]:
        consts, carry, xs = split(args, num_consts, num_carry)
        y_avals = jaxpr.out_avals[num_carry:]
        ys = [np.empty((length, *y.shape), storage_dtype(y)) for y in y_avals]
        for i in reversed(range(length)) if reverse else range(length):
            outs = run_body(jaxpr, [*consts, *carry, *(x[i] for x in xs)])
            carry, y_slices = split(outs, num_carry)
            for y, y_slice in zip(ys, y_slices, strict=True):
                y[i] = y_slice
        return [*carry, *ys]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr,
              length: int, reverse: bool, num_consts: int, num_carry: int, unroll: int, **params: Any) -> Kind:
        return Loop(jaxpr, num_consts, num_carry, length=length, reverse=reverse, unroll=unroll)


def stacked(length: int, aval: ShapedArray) -> ShapedArray:
    """Return the type of `length` values of type `aval` along a new leading axis."""
    return aval.update(shape=(length, *aval.shape))


scan_p = Scan()
