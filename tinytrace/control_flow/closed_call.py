"""`closed_call`: a group of equations, kept together; what the known half of a checkpointed scan looks like."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.control_flow.bodies import keep, run_body
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dce import dce_closed_jaxpr
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, eval_jaxpr
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.trace import current_trace
from tinytrace.transforms.staging import DynamicJaxprTrace


class ClosedCall(Primitive):
    """`outs = closed_call[call_jaxpr={...}] *args`: evaluate `call_jaxpr`."""

    name = "closed_call"
    multiple_results = True

    def bind(self, *args: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> Any:
        """Record a group in a program; anywhere else it is its equations."""
        if isinstance(current_trace(), DynamicJaxprTrace):
            return super().bind(*args, call_jaxpr=call_jaxpr)
        return eval_jaxpr(call_jaxpr.jaxpr, call_jaxpr.consts, *args)

    def effects(self, *avals: ShapedArray, call_jaxpr: ClosedJaxpr) -> frozenset[Any]:
        return call_jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, call_jaxpr: ClosedJaxpr) -> list[ShapedArray]:
        return call_jaxpr.out_avals

    def impl(self, *args: Any, call_jaxpr: ClosedJaxpr) -> list[Any]:
        return run_body(call_jaxpr, args)

    def dce(self, used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        jaxpr, used_ins = dce_closed_jaxpr(eqn.params["call_jaxpr"], used_outs)
        if not any(used_ins) and not any(used_outs) and not jaxpr.effects:
            return used_ins, None
        return used_ins, eqn.replace(invars=keep(eqn.invars, used_ins), outvars=keep(eqn.outvars, used_outs),
                                     params={"call_jaxpr": jaxpr}, effects=jaxpr.effects)

    jvp = refuse("its equations are differentiated one by one")
    transpose = refuse("its equations are transposed one by one")
    batch = refuse("its equations are batched one by one")

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              call_jaxpr: ClosedJaxpr) -> Kind:
        return Call(call_jaxpr)


closed_call_p = ClosedCall()
