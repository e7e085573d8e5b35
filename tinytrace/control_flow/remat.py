"""`remat2`: what `checkpoint` makes of a function: a group of equations that reverse mode computes again.

Differentiating splits the group under a policy (transforms/policy): the known half runs now, as plain equations, and
the staged half, which computes again what the policy did not save, is a new `remat2` in the linear program.
`name` marks a value, so that a policy can speak of it.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.control_flow.bodies import WithPrograms, drop, keep, merge, run_body
from tinytrace.control_flow.effects import remat_allowed_effects
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dce import dce_closed_jaxpr, dce_jaxpr
from tinytrace.core.dtypes import is_inexact
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, eval_jaxpr, jaxpr_as_fun
from tinytrace.core.kinds import Call, IndexMap, Kind
from tinytrace.core.named_axes import Axis
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.tangents import UndefinedPrimal, Zero, is_undefined_primal
from tinytrace.core.trace import is_eager, refuse_tracer
from tinytrace.primitives.conversion import reduce_precision_p
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.partial_eval import JaxprTrace, Unknown, partial_eval
from tinytrace.transforms.policy import Policy, partial_eval_jaxpr_custom
from tinytrace.transforms.staging import hoist_consts, trace_to_closed_jaxpr
from tinytrace.transforms.transpose import backward_pass
from tinytrace.transforms.vmap import batch_jaxpr_axes
from tinytrace.util import cache_by_jaxpr


class Remat(WithPrograms):
    """`outs = remat2[differentiated jaxpr policy prevent_cse] *args`; `jaxpr` has no constants."""

    name = "remat2"
    multiple_results = True

    def bind(self, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
        """Outside of a trace there is nothing to save or to compute again: run the equations."""
        if not is_eager():
            return super().bind(*args, jaxpr=jaxpr, **params)
        for x in args:
            refuse_tracer(x)
        return eval_jaxpr(jaxpr.jaxpr, (), *args)

    def effects(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
        return jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
        return jaxpr.out_avals

    def impl(self, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        return run_body(jaxpr, args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any
            ) -> tuple[Any, Any]:
        moving = [type(t) is not Zero for t in tangents]
        moved, out_moving = jvp_jaxpr(jaxpr, moving, False)
        outs = self.bind(*moved.consts, *primals, *keep(tangents, moving), jaxpr=_hoisted(moved), **params)
        primals_out = outs[:len(out_moving)]
        zeros = map(Zero.from_primal_value, drop(primals_out, out_moving))
        return primals_out, merge(out_moving, zeros, outs[len(out_moving):])

    def partial_eval(self, trace: JaxprTrace, args: Sequence[Any], *, jaxpr: ClosedJaxpr, policy: Policy | None,
                     **params: Any) -> Any:
        unknown = [not trace.is_known(x) for x in args]
        remat_allowed_effects.refuse_others(jaxpr.effects, "partial-eval of `checkpoint`/`remat`")
        split = partial_eval_jaxpr_custom(jaxpr.jaxpr, unknown, True, False, False, policy or nothing_saveable)
        staged, used = dce_jaxpr(split.staged, keep(split.out_unknowns, split.out_inst))
        used_res, used_args = used[:split.num_res], used[split.num_res:]
        num_outs = len(split.out_unknowns) - sum(split.out_unknowns)
        known, used_known = dce_jaxpr(split.known, [True] * num_outs + used_res)
        outs = eval_jaxpr(_rounded(known, sum(used_res)), (), *keep(drop(args, unknown), used_known))
        staged_args = [*map(trace.new_residual, outs[num_outs:]), *keep(args, used_args)]
        unknown_outs = trace.record(self, staged_args, {**params, "jaxpr": ClosedJaxpr(staged, ()), "policy": policy,
                                                        "differentiated": True})
        return merge(split.out_unknowns, outs[:num_outs], unknown_outs)

    @staticmethod
    def partial_eval_eqn(saveable: Policy, unknowns_in: Sequence[bool], inst_in: Sequence[bool], eqn: JaxprEqn) -> Any:
        split = partial_eval_jaxpr_custom(eqn.params["jaxpr"].jaxpr, unknowns_in, inst_in, False, False, saveable)
        residuals = [Var(v.aval) for v in split.staged.invars[:split.num_res]]
        known = eqn.replace(invars=drop(eqn.invars, unknowns_in), effects=split.known.effects,
                            outvars=[*drop(eqn.outvars, split.out_unknowns), *residuals],
                            params={**eqn.params, "jaxpr": ClosedJaxpr(split.known, ())})
        staged = eqn.replace(invars=[*residuals, *keep(eqn.invars, inst_in)], effects=split.staged.effects,
                             outvars=keep(eqn.outvars, split.out_inst),
                             params={**eqn.params, "jaxpr": ClosedJaxpr(split.staged, ()), "differentiated": True})
        wanted = [v for v, inst in zip(eqn.invars, inst_in, strict=True) if isinstance(v, Var) and not inst]
        return known, staged, split.out_unknowns, split.out_inst, [*wanted, *residuals]

    def dce(self, used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        jaxpr, used_ins = dce_closed_jaxpr(eqn.params["jaxpr"], used_outs)
        return used_ins, eqn.replace(invars=keep(eqn.invars, used_ins), outvars=keep(eqn.outvars, used_outs),
                                     params={**eqn.params, "jaxpr": jaxpr}, effects=jaxpr.effects)

    def transpose(self, cts: Sequence[Any], *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> Sequence[Any]:
        linear = [is_undefined_primal(x) for x in args]
        nonzero = [type(ct) is not Zero for ct in cts]
        transposed, received = _transpose_again(jaxpr, tuple(linear), tuple(nonzero))
        outs = self.bind(*transposed.consts, *drop(args, linear), *keep(cts, nonzero),
                         jaxpr=_hoisted(transposed), **params)
        zeros = [Zero(x.aval) for x in drop(keep(args, linear), received)]
        return merge(linear, [None] * (len(args) - sum(linear)), merge(received, zeros, outs))

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, jaxpr: ClosedJaxpr,
                    **params: Any) -> tuple[Any, Any]:
        batched, out_dims = batch_jaxpr_axes(jaxpr, axis, dims, to_front=True)
        return self.bind(*batched.consts, *args, jaxpr=_hoisted(batched), **params), out_dims

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr,
              **params: Any) -> Kind:
        return Call(jaxpr)


remat_p = Remat()


class Name(Primitive):
    """`name[name=...] x` is x."""

    name = "name"

    def abstract_eval(self, x: ShapedArray, *, name: str) -> ShapedArray:
        return x

    def impl(self, x: Any, *, name: str) -> Any:
        return x

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, name: str) -> tuple[Any, Any]:
        return self.bind(*primals, name=name), tangents[0]

    transpose = refuse("a tangent has no name")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, name: str) -> tuple[Any, Any]:
        return self.bind(*args, name=name), dims[0]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, name: str) -> Kind:
        return IndexMap(lambda i, read: read(0, i))


name_p = Name()


def nothing_saveable(*args: Any, **params: Any) -> bool:
    """The policy of `checkpoint` when none is given: compute everything again."""
    return False


@cache_by_jaxpr
def _hoisted(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return a jaxpr that takes its constants as leading arguments."""
    return ClosedJaxpr(hoist_consts(closed.jaxpr.replace()), ())


@cache_by_jaxpr
def _transpose_again(closed: ClosedJaxpr, linear: tuple[bool, ...],
                     nonzero: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    """Turn (values, T a) -> T b into (values, CT b) -> CT a: compute again what the linear part needs, then transpose.

    Returns also which of the linear inputs receive a cotangent.
    """
    received: list[bool] = []

    def transposed(*args: Any) -> list[Any]:
        given = iter(args)
        inputs = [Unknown(aval) if lin else next(given)
                  for aval, lin in zip(closed.in_avals, linear, strict=True)]
        jaxpr, outs, residuals = partial_eval(jaxpr_as_fun(closed), inputs)
        cts = [next(given) if moves else Zero(aval.to_tangent_aval())
               for aval, moves in zip(closed.out_avals, nonzero, strict=True)]
        cts = keep(cts, [isinstance(x, Unknown) for x in outs])
        found = backward_pass(jaxpr, residuals, [UndefinedPrimal(v.aval) for v in jaxpr.invars], cts)
        received[:] = [type(ct) is not Zero for ct in found]
        return keep(found, received)

    ct_avals = [aval.to_tangent_aval() for aval in keep(closed.out_avals, nonzero)]
    return trace_to_closed_jaxpr(transposed, [*drop(closed.in_avals, linear), *ct_avals]), received


@cache_by_jaxpr
def _rounded(jaxpr: Jaxpr, num_res: int) -> Jaxpr:
    """Mark every residual that is also used in the known half itself: both halves must see the same rounded value."""
    invars, eqns = list(jaxpr.invars), list(jaxpr.eqns)
    used = {v for eqn in eqns for v in eqn.invars}
    for v in jaxpr.outvars[len(jaxpr.outvars) - num_res:]:
        if not isinstance(v, Var) or v not in used or not is_inexact(v.aval.dtype):
            continue
        exact = Var(v.aval)
        bits = dict(zip(("exponent_bits", "mantissa_bits"), _FLOAT_BITS[v.aval.dtype.name], strict=True))
        if v in invars:
            invars[invars.index(v)] = exact
            eqns.insert(0, JaxprEqn([exact], [v], reduce_precision_p, bits))
            continue
        at, maker = next((i, eqn) for i, eqn in enumerate(eqns) if v in eqn.outvars)
        if maker.primitive is reduce_precision_p and maker.params == bits:
            continue
        eqns[at] = maker.replace(outvars=[exact if out is v else out for out in maker.outvars])
        eqns.insert(at + 1, JaxprEqn([exact], [v], reduce_precision_p, bits, source=maker.source))
    return jaxpr.replace(invars=invars, eqns=eqns)


_FLOAT_BITS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}
