"""`cond`: one of several branches, chosen by an index; the other branches are not evaluated."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.control_flow.bodies import run_body
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.kinds import Branch, Kind
from tinytrace.core.primitive import Primitive


class Cond(Primitive):
    """`outs = cond[branches] index *operands`: branch number `index` (an int32 in range) of the operands."""

    name = "cond"
    multiple_results = True
    compiled_eagerly = True

    def effects(self, *avals: ShapedArray, branches: tuple[ClosedJaxpr, ...]) -> frozenset[Any]:
        return frozenset().union(*(b.effects for b in branches))

    def abstract_eval(self, *avals: ShapedArray, branches: tuple[ClosedJaxpr, ...]) -> list[ShapedArray]:
        return branches[0].out_avals

    def impl(self, index: Any, *args: Any, branches: tuple[ClosedJaxpr, ...]) -> list[Any]:
        return run_body(branches[min(max(int(index), 0), len(branches) - 1)], args)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              branches: tuple[ClosedJaxpr, ...]) -> Kind:
        return Branch(branches)


cond_p = Cond()
