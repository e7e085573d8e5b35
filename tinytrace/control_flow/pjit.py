"""`pjit`: call a named program. It is the equation that a jitted function leaves in the program around it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.control_flow.bodies import WithPrograms, drop, keep, merge, run_body
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dce import dce_closed_jaxpr
from tinytrace.core.jaxpr import ClosedJaxpr, DropVar, JaxprEqn, Var, eval_jaxpr
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.named_axes import Axis
from tinytrace.core.source_info import replayed_source
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.core.trace import current_trace, is_eager
from tinytrace.transforms.binders import forwarded_inputs, move_binders_to_back, prune_outputs
from tinytrace.transforms.jvp import jvp_jaxpr
from tinytrace.transforms.partial_eval import JaxprTrace, partial_eval_jaxpr
from tinytrace.transforms.policy import Policy, Split, partial_eval_jaxpr_custom
from tinytrace.transforms.staging import DynamicJaxprTrace, user_source
from tinytrace.transforms.transpose import transpose_jaxpr
from tinytrace.transforms.vmap import batch_jaxpr_axes
from tinytrace.util import cache_by_jaxpr


def _written(jaxpr: ClosedJaxpr, forwarded: Sequence[int | None]) -> ClosedJaxpr:
    """Return the program to write down for a call of `jaxpr`: without the outputs that are inputs.

    It is another object than `jaxpr`, and another one for each inlined function that the call passed through: programs
    print by name when they are one object, and so do what later transformations make of them.
    """
    jaxpr = prune_outputs(jaxpr, [i is None for i in forwarded])
    trace = current_trace()
    for _ in range(trace.inlined if isinstance(trace, DynamicJaxprTrace) else 0):
        jaxpr = prune_outputs(jaxpr, [True] * len(jaxpr.jaxpr.outvars))
    return jaxpr


class Pjit(WithPrograms):
    """`pjit[name=f jaxpr={...}] *args`: evaluate `jaxpr`; everything else is said about it, not done by it."""

    name = "pjit"
    multiple_results = True
    compiled_eagerly = True

    def bind(self, *args: Any, **params: Any) -> Any:
        """Leave an equation only where one is wanted: not for `inline` calls, not for outputs that are inputs."""
        jaxpr: ClosedJaxpr = params["jaxpr"]
        staging = isinstance(current_trace(), DynamicJaxprTrace)
        if params["inline"] and (staging or is_eager()):
            with replayed_source() as replay:  # traced once, for the first of many callers
                replay.source = user_source() if staging else None
                return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args, keep_lines=False)
        if not staging:
            return super().bind(*args, **params)
        forwarded = forwarded_inputs(jaxpr.jaxpr)
        outs = iter(super().bind(*args, **{**params, "jaxpr": _written(jaxpr, forwarded)}))
        return [next(outs) if i is None else args[i] for i in forwarded]

    def pp_params(self, params: dict[str, Any]) -> dict[str, Any]:
        shown = {"name": params["name"]}
        if any(params["donated_invars"]):
            shown["donated_invars"] = params["donated_invars"]
        shown["jaxpr"] = params["jaxpr"]
        if params["keep_unused"]:
            shown["keep_unused"] = True
        return shown

    def parse_params(self, shown: dict[str, Any]) -> dict[str, Any]:
        n = len(shown["jaxpr"].jaxpr.invars)
        return {"donated_invars": (False,) * n, "keep_unused": False, "inline": False, **shown}

    def effects(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
        return jaxpr.effects

    def abstract_eval(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> list[ShapedArray]:
        return jaxpr.out_avals

    def check_params(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> None:
        if len(avals) != len(jaxpr.in_avals):
            raise TypeError(f"Call primitive pjit with {len(avals)} operands cannot call jaxpr with "
                            f"{len(jaxpr.in_avals)} inputs")

    def impl(self, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        return run_body(jaxpr, args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr,
            donated_invars: tuple[bool, ...], **params: Any) -> tuple[Any, Any]:
        moving = [type(t) is not Zero for t in tangents]
        jvp, out_moving = jvp_jaxpr(jaxpr, moving, False)
        outs = self.bind(*primals, *keep(tangents, moving), jaxpr=jvp,
                         donated_invars=(*donated_invars, *keep(donated_invars, moving)), **params)
        count = len(out_moving)
        zeros = [Zero(aval.to_tangent_aval()) for aval in drop(jaxpr.out_avals, out_moving)]
        return outs[:count], merge(out_moving, zeros, outs[count:])

    def partial_eval(self, trace: JaxprTrace, args: Sequence[Any], *, jaxpr: ClosedJaxpr,
                     donated_invars: tuple[bool, ...], **params: Any) -> Any:
        unknown = [not trace.is_known(x) for x in args]
        known_args = drop(args, unknown)
        known, rest, out_unknown, res_avals = partial_eval_jaxpr(jaxpr, unknown, False)
        num_res = len(res_avals)
        known_donated = tuple(drop(donated_invars, unknown))
        outs = self._call_known(known, known_args, len(out_unknown) - sum(out_unknown),
                                {"donated_invars": known_donated, **params})
        known_outs, residuals = outs[:len(outs) - num_res], outs[len(outs) - num_res:]
        rest = move_binders_to_back(rest, [True] * num_res + [False] * sum(unknown))
        unknown_outs = trace.record(
            self, [*keep(args, unknown), *map(trace.new_residual, residuals)],
            {"jaxpr": rest, "donated_invars": (*keep(donated_invars, unknown), *[False] * num_res), **params})
        return merge(out_unknown, known_outs, unknown_outs)

    def _call_known(self, known: ClosedJaxpr, args: Sequence[Any], num_outs: int, params: dict[str, Any]) -> list[Any]:
        """Call the known half; what is an input already, or a residual that is an output too, is not computed twice."""
        from_input = forwarded_inputs(known.jaxpr)
        num_outs = sum(i is None for i in from_input[:num_outs])
        known = prune_outputs(known, [i is None for i in from_input])
        outvars = known.jaxpr.outvars
        position = {v: i for i, v in enumerate(outvars[:num_outs]) if isinstance(v, Var)}
        from_output = [position.get(v) if i >= num_outs and isinstance(v, Var) else None for i, v in enumerate(outvars)]
        known = prune_outputs(known, [i is None for i in from_output])
        computed = iter(outs := self.bind(*args, jaxpr=known, **params))
        distinct = iter([next(computed) if i is None else outs[i] for i in from_output])
        return [next(distinct) if i is None else args[i] for i in from_input]

    @staticmethod
    def partial_eval_eqn(saveable: Policy, unknowns_in: Sequence[bool], inst_in: Sequence[bool], eqn: JaxprEqn) -> Any:
        donated, dropped = eqn.params["donated_invars"], tuple(isinstance(v, DropVar) for v in eqn.outvars)
        split, known, staged, from_output = _split_body(eqn.params["jaxpr"], tuple(unknowns_in), tuple(inst_in),
                                                        dropped, saveable)
        known_outs = drop(eqn.outvars, split.out_unknowns)
        res_avals = staged.in_avals[:len(from_output)]
        residuals = [Var(aval) if i is None else known_outs[i] for i, aval in zip(from_output, res_avals, strict=True)]
        new = keep(residuals, [i is None for i in from_output])
        known_eqn = eqn.replace(
            invars=drop(eqn.invars, unknowns_in), outvars=[*known_outs, *new], effects=known.effects,
            params={**eqn.params, "jaxpr": known, "donated_invars": tuple(drop(donated, unknowns_in))})
        staged_eqn = eqn.replace(
            invars=[*residuals, *keep(eqn.invars, inst_in)], outvars=keep(eqn.outvars, split.out_inst),
            effects=staged.effects, params={**eqn.params, "jaxpr": staged, "donated_invars": (
                *[False] * len(residuals), *keep(donated, inst_in))})
        wanted = [v for v, inst in zip(eqn.invars, inst_in, strict=True) if isinstance(v, Var) and not inst]
        return known_eqn, staged_eqn, split.out_unknowns, split.out_inst, [*wanted, *residuals]

    def dce(self, used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        jaxpr, used_ins = dce_closed_jaxpr(eqn.params["jaxpr"], used_outs)
        donated = tuple(keep(eqn.params["donated_invars"], used_ins))
        return used_ins, eqn.replace(invars=keep(eqn.invars, used_ins), outvars=keep(eqn.outvars, used_outs),
                                     params={**eqn.params, "jaxpr": jaxpr, "donated_invars": donated},
                                     effects=jaxpr.effects)

    def transpose(self, cts: Sequence[Any], *args: Any, jaxpr: ClosedJaxpr, donated_invars: tuple[bool, ...],
                  **params: Any) -> Sequence[Any]:
        linear = [is_undefined_primal(x) for x in args]
        nonzero = [type(ct) is not Zero for ct in cts]
        transposed, received = transpose_jaxpr(jaxpr, linear, nonzero)
        inputs = [*drop(args, linear), *keep(cts, nonzero)]
        outs = self.bind(*inputs, jaxpr=transposed, donated_invars=(False,) * len(inputs), **params)
        return merge(received, [None] * (len(args) - sum(received)), outs)

    def batch_along(self, axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, jaxpr: ClosedJaxpr,
                    **params: Any) -> tuple[Any, Any]:
        batched, out_dims = batch_jaxpr_axes(jaxpr, axis, dims)
        return self.bind(*args, jaxpr=batched, **params), out_dims

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr,
              **params: Any) -> Kind:
        return Call(jaxpr)


@cache_by_jaxpr
def _split_body(closed: ClosedJaxpr, unknowns: tuple[bool, ...], inst: tuple[bool, ...], dropped: tuple[bool, ...],
                saveable: Policy) -> tuple[Split, ClosedJaxpr, ClosedJaxpr, list[int | None]]:
    """Split a body under a policy; says also which known output each residual is, if it is one that is read."""
    split = partial_eval_jaxpr_custom(closed.jaxpr, unknowns, inst, False, False, saveable)
    known_dropped = drop(dropped, split.out_unknowns)
    outvars = split.known.outvars
    position = {v: i for i, v in enumerate(outvars[:len(known_dropped)]) if not known_dropped[i]}
    from_output = [position.get(v) for v in outvars[len(known_dropped):]]
    kept = [*outvars[:len(known_dropped)], *(v for v in outvars[len(known_dropped):] if v not in position)]
    known = ClosedJaxpr(split.known.replace(outvars=kept), closed.consts)
    return split, known, ClosedJaxpr(split.staged, closed.consts), from_output


pjit_p = Pjit()


def call_params(jaxpr: ClosedJaxpr, name: str, donated_invars: tuple[bool, ...], keep_unused: bool,
                inline: bool) -> dict[str, Any]:
    """Return the complete parameters of a `pjit` equation."""
    return {"jaxpr": jaxpr, "donated_invars": donated_invars, "name": name, "keep_unused": keep_unused,
            "inline": inline}
