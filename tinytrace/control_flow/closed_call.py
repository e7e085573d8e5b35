"""`closed_call`: a group of equations, kept together; what the known half of a checkpointed scan looks like."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.control_flow.bodies import CallsProgram, drop, keep, merge
from tinytrace.core.avals import aval_of
from tinytrace.core.dce import dce_closed_jaxpr
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, Var, eval_jaxpr, jaxpr_as_fun
from tinytrace.core.named_axes import Axis
from tinytrace.core.primitive import Primitive, registry
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.core.trace import current_trace, is_eager
from tinytrace.transforms.binders import forwarded_inputs, prune_outputs
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.partial_eval import JaxprTrace, partial_eval_jaxpr
from tinytrace.transforms.policy import Policy, partial_eval_jaxpr_custom
from tinytrace.transforms.staging import DynamicJaxprTrace, hoist_consts, trace_to_closed_jaxpr, trace_to_jaxpr
from tinytrace.transforms.transpose import transpose_jaxpr
from tinytrace.transforms.vmap import BatchTrace, batch_jaxpr_axes

ParamsUpdater = Callable[..., dict[str, Any]]
call_param_updaters: dict[Primitive, ParamsUpdater] = {}
"""`update(params, kept, num_new)`: parameters for those operands that are kept, behind new ones."""
call_jvp_param_updaters: dict[Primitive, ParamsUpdater] = {}
"""`update(params, moving)`: parameters for the operands and the tangents of those that move."""
call_transpose_param_updaters: dict[Primitive, ParamsUpdater] = {}
"""`update(params, linear, nonzero)`: parameters for the known operands and the cotangents that are not zero."""


def updated(updaters: dict[Primitive, ParamsUpdater], primitive: Primitive, params: dict[str, Any], *flags: Any
            ) -> dict[str, Any]:
    """Return the parameters of a call of other operands, as the user says for this primitive: else as they are."""
    update = updaters.get(primitive)
    return params if update is None else update(params, *flags)


class CallPrimitive(CallsProgram):
    """`outs = closed_call[call_jaxpr={...}] *args`: evaluate `call_jaxpr`."""

    call_primitive = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.run: Callable[..., Any] = lambda fun, *args, **params: fun.call_wrapped(*args)

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Let `impl(fun, *args, **params)` compute the call of a function outside of traces."""
        self.run = impl
        return impl

    def bind(self, *args: Any, **params: Any) -> Any:
        """Outside of a trace it is its equations; in a program it is traced again, and what is unused is dropped.

        Without `call_jaxpr` the first operand is a `linear_util.WrappedFun`, to be traced at the types of the others.
        """
        if "call_jaxpr" not in params:
            fun, *operands = args
            return current_trace().process_call(self, fun, operands, params)
        return self._apply((), args, params)

    def bind_function(self, fun: Any, *args: Any, **params: Any) -> Any:
        """Apply the call of a function: outside of a trace call it, else leave the equation of its jaxpr behind."""
        if is_eager():
            return self.run(fun, *args, **params)
        jaxpr, closed_over = trace_to_jaxpr(fun.call_wrapped, [aval_of(x) for x in args])
        if isinstance(current_trace(), BatchTrace):
            params.setdefault("name", fun.__name__)
        return self._apply(closed_over, args, {**params, "call_jaxpr": ClosedJaxpr(hoist_consts(jaxpr), ())})

    def _apply(self, closed_over: Sequence[Any], args: Sequence[Any], params: dict[str, Any]) -> Any:
        jaxpr: ClosedJaxpr = params["call_jaxpr"]
        operands = [*closed_over, *args]
        if is_eager():
            return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *operands)
        if isinstance(current_trace(), DynamicJaxprTrace):
            jaxpr = trace_to_closed_jaxpr(jaxpr_as_fun(jaxpr), [aval_of(x) for x in operands])
            params = updated(call_param_updaters, self, {**params, "call_jaxpr": jaxpr}, [True] * len(args),
                             len(closed_over))
        return super().bind(*operands, **params)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, call_jaxpr: ClosedJaxpr, **params: Any
            ) -> tuple[Any, Any]:
        moving = [type(t) is not Zero for t in tangents]
        jvp, out_moving = jvp_jaxpr(call_jaxpr, moving, False)
        params = updated(call_jvp_param_updaters, self, params, moving)
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
        outs = []
        if known.out_avals or known.effects:
            outs = self.bind(*known_args, call_jaxpr=known, **updated(
                call_param_updaters, self, params, [not flag for flag in unknown], 0))
        computed = iter(outs)
        outs = [next(computed) if i is None else known_args[i] for i in from_input]
        residuals = list(map(trace.instantiate, outs[num_outs:]))
        params = updated(call_param_updaters, self, {**params, "call_jaxpr": rest}, unknown, len(residuals))
        unknown_outs = trace.record(self, [*residuals, *keep(args, unknown)], params)
        return merge(out_unknown, outs[:num_outs], unknown_outs)

    @staticmethod
    def partial_eval_eqn(saveable: Policy, unknowns_in: Sequence[bool], inst_in: Sequence[bool], eqn: JaxprEqn) -> Any:
        body: ClosedJaxpr = eqn.params["call_jaxpr"]
        split = partial_eval_jaxpr_custom(body.jaxpr, unknowns_in, inst_in, False, False, saveable)
        residuals = [Var(v.aval) for v in split.staged.invars[:split.num_res]]
        known = eqn.replace(invars=drop(eqn.invars, unknowns_in), effects=split.known.effects,
                            outvars=[*drop(eqn.outvars, split.out_unknowns), *residuals],
                            params={**eqn.params, "call_jaxpr": ClosedJaxpr(split.known, body.consts)})
        staged = eqn.replace(invars=[*residuals, *keep(eqn.invars, inst_in)], effects=split.staged.effects,
                             outvars=keep(eqn.outvars, split.out_inst),
                             params={**eqn.params, "call_jaxpr": ClosedJaxpr(split.staged, body.consts)})
        wanted = [v for v, inst in zip(eqn.invars, inst_in, strict=True) if isinstance(v, Var) and not inst]
        return known, staged, split.out_unknowns, split.out_inst, [*wanted, *residuals]

    def dce(self, used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        jaxpr, used_ins = dce_closed_jaxpr(eqn.params["call_jaxpr"], used_outs)
        if not any(used_ins) and not any(used_outs) and not jaxpr.effects:
            return used_ins, None
        return used_ins, eqn.replace(invars=keep(eqn.invars, used_ins), outvars=keep(eqn.outvars, used_outs),
                                     params=updated(call_param_updaters, self, {**eqn.params, "call_jaxpr": jaxpr},
                                                    used_ins, 0), effects=jaxpr.effects)

    def transpose(self, cts: Sequence[Any], *args: Any, call_jaxpr: ClosedJaxpr, **params: Any) -> Sequence[Any]:
        linear = [is_undefined_primal(x) for x in args]
        nonzero = [type(ct) is not Zero for ct in cts]
        transposed, received = transpose_jaxpr(call_jaxpr, linear, nonzero)
        params = updated(call_transpose_param_updaters, self, params, linear, nonzero)
        outs = self.bind(*drop(args, linear), *keep(cts, nonzero), call_jaxpr=transposed, **params)
        return merge(received, [None] * (len(args) - sum(received)), outs)

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, call_jaxpr: ClosedJaxpr,
                    **params: Any) -> tuple[Any, Any]:
        batched, out_dims = batch_jaxpr_axes(call_jaxpr, axis, dims)
        params.setdefault("name", "<unnamed wrapped function>")  # a name that only vmap gives, in JAX too
        return self.bind(*args, call_jaxpr=batched, **params), out_dims


closed_call_p = registry["closed_call"] = CallPrimitive("closed_call")
core_call_p = registry["call"] = CallPrimitive("call")
"""What `jax.core.call_p` makes, in programs against JAX's insides."""
