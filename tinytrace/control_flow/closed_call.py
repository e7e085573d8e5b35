"""`closed_call`: a group of equations, kept together; what the known half of a checkpointed scan looks like."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.control_flow.bodies import CallsProgram, drop, keep, merge
from tinytrace.core.avals import aval_of
from tinytrace.core.dce import dce_closed_jaxpr
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, eval_jaxpr, jaxpr_as_fun
from tinytrace.core.named_axes import Axis
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.core.trace import current_trace, is_eager
from tinytrace.transforms.binders import forwarded_inputs, prune_outputs
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.partial_eval import JaxprTrace, partial_eval_jaxpr
from tinytrace.transforms.staging import DynamicJaxprTrace, hoist_consts, trace_to_closed_jaxpr, trace_to_jaxpr
from tinytrace.transforms.transpose import transpose_jaxpr
from tinytrace.transforms.vmap import batch_jaxpr_axes


class ClosedCall(CallsProgram):
    """`outs = closed_call[call_jaxpr={...}] *args`: evaluate `call_jaxpr`."""

    name = "closed_call"

    def bind(self, *args: Any, **params: Any) -> Any:
        """Outside of a trace it is its equations; in a program it is traced again, and what is unused is dropped.

        Without `call_jaxpr` the first operand is a `linear_util.WrappedFun`, to be traced at the types of the others.
        """
        if "call_jaxpr" not in params:
            return self._bind_function(*args, **params)
        jaxpr: ClosedJaxpr = params["call_jaxpr"]
        if is_eager():
            return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
        if isinstance(current_trace(), DynamicJaxprTrace):
            jaxpr = trace_to_closed_jaxpr(jaxpr_as_fun(jaxpr), [aval_of(x) for x in args])
        return super().bind(*args, **{**params, "call_jaxpr": jaxpr})

    def _bind_function(self, fun: Any, *args: Any, **params: Any) -> Any:
        if is_eager():
            return fun.call_wrapped(*args)
        jaxpr, closed_over = trace_to_jaxpr(fun.call_wrapped, [aval_of(x) for x in args])
        return self.bind(*closed_over, *args, call_jaxpr=ClosedJaxpr(hoist_consts(jaxpr), ()), **params)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, call_jaxpr: ClosedJaxpr, **params: Any
            ) -> tuple[Any, Any]:
        moving = [type(t) is not Zero for t in tangents]
        jvp, out_moving = jvp_jaxpr(call_jaxpr, moving, False)
        outs = self.bind(*primals, *keep(tangents, moving), call_jaxpr=jvp, **params)
        primals_out = outs[:len(out_moving)]
        zeros = map(Zero.from_primal_value, drop(primals_out, out_moving))
        return primals_out, merge(out_moving, zeros, outs[len(out_moving):])

    def partial_eval(self, trace: JaxprTrace, args: Sequence[Any], *, call_jaxpr: ClosedJaxpr, **params: Any) -> Any:
        unknown = [not trace.is_known(x) for x in args]
        known_args = drop(args, unknown)
        known, rest, out_unknown, _ = partial_eval_jaxpr(call_jaxpr, unknown, False)
        num_outs = len(out_unknown) - sum(out_unknown)
        from_input = [None] * num_outs + forwarded_inputs(known.jaxpr)[num_outs:]
        known = prune_outputs(known, [i is None for i in from_input])
        outs = self.bind(*known_args, call_jaxpr=known, **params) if known.out_avals or known.effects else []
        computed = iter(outs)
        outs = [next(computed) if i is None else known_args[i] for i in from_input]
        unknown_outs = trace.record(self, [*map(trace.instantiate, outs[num_outs:]), *keep(args, unknown)],
                                    {**params, "call_jaxpr": rest})
        return merge(out_unknown, outs[:num_outs], unknown_outs)

    def dce(self, used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        jaxpr, used_ins = dce_closed_jaxpr(eqn.params["call_jaxpr"], used_outs)
        if not any(used_ins) and not any(used_outs) and not jaxpr.effects:
            return used_ins, None
        return used_ins, eqn.replace(invars=keep(eqn.invars, used_ins), outvars=keep(eqn.outvars, used_outs),
                                     params={**eqn.params, "call_jaxpr": jaxpr}, effects=jaxpr.effects)

    def transpose(self, cts: Sequence[Any], *args: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> Sequence[Any]:
        linear = [is_undefined_primal(x) for x in args]
        nonzero = [type(ct) is not Zero for ct in cts]
        transposed, received = transpose_jaxpr(call_jaxpr, linear, nonzero)
        outs = self.bind(*drop(args, linear), *keep(cts, nonzero), call_jaxpr=transposed, **params)
        return merge(received, [None] * (len(args) - sum(received)), outs)

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, call_jaxpr: ClosedJaxpr,
                    **params: Any) -> tuple[Any, Any]:
        batched, out_dims = batch_jaxpr_axes(call_jaxpr, axis, dims)
        params.setdefault("name", "<unnamed wrapped function>")  # a name that only vmap gives, in JAX too
        return self.bind(*args, call_jaxpr=batched, **params), out_dims


class CoreCall(ClosedCall):
    """`outs = call[call_jaxpr={...}] *args`: what `jax.core.call_p` makes, in programs against JAX's insides."""

    name = "call"


closed_call_p = ClosedCall()
core_call_p = CoreCall()
