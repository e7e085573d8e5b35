"""`linear_call`: a linear program and the program that is its transpose, which the user has written.

Its transpose is again a `linear_call`, of the two programs the other way round.
Source: `jax.custom_derivatives.linear_call`.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.control_flow.bodies import run_body, split
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, UnusedVar, eval_jaxpr
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.tangents import is_undefined_primal
from tinytrace.core.trace import is_eager
from tinytrace.transforms.zeros import instantiate_zeros


class LinearCall(Primitive):
    """`outs = linear_call[callee transpose num_callee_consts ...] *callee_consts *transpose_consts *res *lin`."""

    name = "linear_call"
    multiple_results = True

    def bind(self, *args: Any, **params: Any) -> Any:
        if is_eager():
            return eval_jaxpr(params["callee"].jaxpr, params["callee"].consts, *_used(args, **params))
        return super().bind(*args, **params)

    def effects(self, *avals: ShapedArray, callee: ClosedJaxpr, **params: Any) -> frozenset[Any]:
        return callee.effects

    def abstract_eval(self, *avals: ShapedArray, callee: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
        return callee.out_avals

    def impl(self, *args: Any, callee: ClosedJaxpr, **params: Any) -> list[Any]:
        return run_body(callee, _used(args, **params))

    jvp = refuse("it is for programs that are linear already, such as those of linear_transpose")

    def transpose(self, cts: Sequence[Any], *args: Any, callee: ClosedJaxpr, transpose: ClosedJaxpr,
                  num_callee_consts: int, num_transpose_consts: int, num_res: int) -> Sequence[Any]:
        consts, transpose_consts, res, _ = split(args, num_callee_consts, num_transpose_consts, num_res)
        before = [*consts, *transpose_consts, *res]
        if any(map(is_undefined_primal, before)):
            raise NotImplementedError("linear_call is transposed in its linear arguments only: its residuals, and the "
                                      "values that its functions close over, must not depend on what is transposed")
        outs = self.bind(*transpose_consts, *consts, *res, *map(instantiate_zeros, cts), callee=transpose,
                         transpose=callee, num_callee_consts=num_transpose_consts,
                         num_transpose_consts=num_callee_consts, num_res=num_res)
        return [None] * len(before) + list(outs)

    batch = refuse("a batching rule for it is not defined, in JAX neither")

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, callee: ClosedJaxpr,
              num_callee_consts: int, num_transpose_consts: int, **params: Any) -> Kind:
        invars = callee.jaxpr.invars
        ignored = [UnusedVar(aval) for aval in in_avals[num_callee_consts:num_callee_consts + num_transpose_consts]]
        return Call(ClosedJaxpr(callee.jaxpr.replace(
            invars=[*invars[:num_callee_consts], *ignored, *invars[num_callee_consts:]], debug_info=None),
            callee.consts))


def _used(args: Sequence[Any], num_callee_consts: int, num_transpose_consts: int, **params: Any) -> list[Any]:
    """Return the operands of the callee: all but what the transpose closes over."""
    return [*args[:num_callee_consts], *args[num_callee_consts + num_transpose_consts:]]


linear_call_p = LinearCall()
