"""`remat_opt`: a forward rule that becomes the plain function again where nothing reads its residuals.

`custom_vjp(...).defvjp(..., optimize_remat=True)` puts the forward rule into this equation. Under `checkpoint` the
forward pass drops the residuals, and with them the reason to run the rule: dead code elimination then calls the
function itself. Source: `jax.custom_derivatives.remat_opt_p`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tinytrace.control_flow.bodies import WithPrograms, beside, keep, rearranged, run_body
from tinytrace.control_flow.closed_call import closed_call_p
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dce import dce_closed_jaxpr, dce_jaxpr
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.named_axes import Axis
from tinytrace.core.tangents import Zero
from tinytrace.primitives.shaping import moveaxis
from tinytrace.transforms.binders import prune_outputs
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.staging import hoist_consts, trace_to_closed_jaxpr, trace_to_jaxpr
from tinytrace.transforms.vmap import batch_jaxpr
from tinytrace.transforms.zeros import instantiate_zeros

FlatFunction = Callable[..., Sequence[Any]]


class FunThunk:
    """Traces the function itself on demand."""

    def __init__(self, trace: Callable[[], ClosedJaxpr]) -> None:
        self._trace = trace
        self._traced: ClosedJaxpr | None = None

    def __call__(self) -> ClosedJaxpr:
        if self._traced is None:
            self._traced = self._trace()
        return self._traced

    def __repr__(self) -> str:
        return f"<function _memoize.<locals>.memoized at {id(self):#x}>"  # as JAX prints it


class RematOpt(WithPrograms):
    """`residuals outs = remat_opt[fwd_jaxpr={...} ...] *consts *args`: the forward rule, or the function alone."""

    name = "remat_opt"
    multiple_results = True

    def call(self, fun: FlatFunction, fwd: FlatFunction, num_res: Callable[[], int], args: Sequence[Any]) -> Any:
        """Bind the forward rule `fwd`, of leaves to `[*residuals, *outs]`, of the function `fun` of leaves."""
        avals = [aval_of(x) for x in args]
        jaxpr, consts = trace_to_jaxpr(fwd, avals)
        closed = ClosedJaxpr(hoist_consts(jaxpr), [])
        if closed.effects:
            raise NotImplementedError("remat optimization for custom_vjp does not support forward functions with side "
                                      f"effects, but the forward rule has the following effects: {closed.effects}")
        thunk = FunThunk(lambda: trace_to_closed_jaxpr(fun, avals))
        return self.bind(*consts, *args, num_consts=len(consts), num_res=num_res(), fwd_jaxpr=closed,
                         fun_jaxpr_thunk=thunk)

    def abstract_eval(self, *avals: ShapedArray, fwd_jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
        return fwd_jaxpr.out_avals

    def impl(self, *args: Any, fwd_jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        return run_body(fwd_jaxpr, args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, num_consts: int, num_res: int,
            fwd_jaxpr: ClosedJaxpr, fun_jaxpr_thunk: FunThunk) -> tuple[Any, Any]:
        consts, args = primals[:num_consts], primals[num_consts:]
        moving = [type(t) is not Zero for t in tangents[:num_consts]]
        consts_dot = keep(tangents[:num_consts], moving)
        args_dot = [instantiate_zeros(t) for t in tangents[num_consts:]]  # all: what is unused may be dropped later
        jvp, _ = jvp_jaxpr(fwd_jaxpr, moving + [True] * len(args), True)
        num_outs = len(fwd_jaxpr.out_avals) - num_res
        jvp = rearranged(jvp, beside([num_consts, len(args)], [len(consts_dot), len(args_dot)]),
                         beside([num_res, num_outs], [num_res, num_outs]))
        outs = self.bind(*consts, *consts_dot, *args, *args_dot, num_consts=num_consts + len(consts_dot),
                         num_res=2 * num_res, fwd_jaxpr=jvp, fun_jaxpr_thunk=FunThunk(
                             lambda: jvp_jaxpr(fun_jaxpr_thunk(), [True] * len(args), True)[0]))
        residuals, moved_residuals = outs[:num_res], outs[num_res:2 * num_res]
        results, moved_results = outs[2 * num_res:2 * num_res + num_outs], outs[2 * num_res + num_outs:]
        return [*residuals, *results], [*moved_residuals, *moved_results]

    def dce(self, used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        num_res, num_consts = eqn.params["num_res"], eqn.params["num_consts"]
        outvars = keep(eqn.outvars, used_outs)
        if any(used_outs[:num_res]):
            jaxpr, used_ins = dce_jaxpr(eqn.params["fwd_jaxpr"].jaxpr, used_outs, instantiate=[
                *[False] * num_consts, *[True] * (len(eqn.invars) - num_consts)])
            thunk = eqn.params["fun_jaxpr_thunk"]
            pruned = FunThunk(lambda: prune_outputs(thunk(), used_outs[num_res:]))
            return used_ins, eqn.replace(invars=keep(eqn.invars, used_ins), outvars=outvars, params={
                "fwd_jaxpr": ClosedJaxpr(jaxpr, []), "num_consts": sum(used_ins[:num_consts]),
                "num_res": sum(used_outs[:num_res]), "fun_jaxpr_thunk": pruned})
        function, used_args = dce_closed_jaxpr(eqn.params["fun_jaxpr_thunk"](), used_outs[num_res:])
        used_ins = [False] * num_consts + used_args
        return used_ins, eqn.replace(primitive=closed_call_p, invars=keep(eqn.invars, used_ins), outvars=outvars,
                                     params={"call_jaxpr": function}, effects=function.effects)

    def partial_eval(self, *args: Any, **params: Any) -> NoReturn:
        self.transpose()

    def transpose(self, *args: Any, **params: Any) -> NoReturn:
        raise NotImplementedError("remat optimization for custom_vjp does not support higher-order AD")

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, num_consts: int, num_res: int,
                    fwd_jaxpr: ClosedJaxpr, fun_jaxpr_thunk: FunThunk) -> tuple[Any, Any]:
        operands = [x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(args, dims, strict=True)]
        mapped = [dim is not None for dim in dims]
        batched, out_mapped = batch_jaxpr(fwd_jaxpr, axis, mapped, False)
        # The function is to give what the rule gives: the same results are batched.
        thunk = FunThunk(lambda: batch_jaxpr(fun_jaxpr_thunk(), axis, mapped[num_consts:], out_mapped[num_res:])[0])
        outs = self.bind(*operands, num_consts=num_consts, num_res=num_res, fwd_jaxpr=batched, fun_jaxpr_thunk=thunk)
        return outs, [0 if m else None for m in out_mapped]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, fwd_jaxpr: ClosedJaxpr,
              **params: Any) -> Kind:
        return Call(fwd_jaxpr)


remat_opt_p = RematOpt()
