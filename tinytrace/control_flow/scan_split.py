"""How a scan is split when some of its operands are unknown: one scan that runs now and one that is left.

The known scan hands over *residuals*. Such a value may differ from step to step: then it is stacked, one more y of the
known scan and one more x of the other (an *extensive* residual). Or it is the same in all steps, being computed from
known consts only: then it is computed once, before the loop, and is a const of the other scan (an *intensive* one).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.control_flow.bodies import drop, fixpoint, keep, merge, split
from tinytrace.control_flow.closed_call import closed_call_p
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, Var, eval_jaxpr, jaxpr_as_fun
from tinytrace.core.primitive import Primitive
from tinytrace.core.source_info import scopes
from tinytrace.transforms.binders import forwarded_inputs, move_binders_to_back, move_binders_to_front, prune_outputs
from tinytrace.transforms.partial_eval import JaxprTrace, Unknown, partial_eval, partial_eval_jaxpr
from tinytrace.transforms.policy import Policy, partial_eval_jaxpr_custom
from tinytrace.transforms.staging import hoist_consts, trace_to_closed_jaxpr
from tinytrace.transforms.zeros import as_result


def partial_eval_scan(scan: Primitive, trace: JaxprTrace, args: Sequence[Any], *, jaxpr: ClosedJaxpr, num_consts: int,
                      num_carry: int, linear: tuple[bool, ...], **params: Any) -> Any:
    """Run the known half of a scan and record the unknown half in `trace`."""
    num_ys = len(jaxpr.out_avals) - num_carry
    consts_uk, init_uk, xs_uk = split([not trace.is_known(x) for x in args], num_consts, num_carry)

    def step(carry_uk: list[bool]) -> tuple[Any, list[bool]]:
        halves = partial_eval_jaxpr(jaxpr, consts_uk + carry_uk + xs_uk, carry_uk + [False] * num_ys)
        return halves, halves[2][:num_carry]

    (known, rest, out_uk, res_avals), carry_uk = fixpoint(init_uk, step)
    unknowns, num_res, num_unknown = consts_uk + carry_uk + xs_uk, len(res_avals), sum(consts_uk + carry_uk + xs_uk)
    known_args = drop(args, unknowns)
    known_consts = [as_result(x) for x in drop(args[:num_consts], consts_uk)]  # a number would be text in the loop
    num_outs, num_known_carry = len(out_uk) - sum(out_uk), num_carry - sum(carry_uk)

    known, consts, residuals = _hoist(known, known_consts, num_outs)
    invariant = [not isinstance(r, Unknown) for r in residuals]
    rest = move_binders_to_back(rest, [True] * num_res + [False] * num_unknown)
    rest = move_binders_to_front(rest, [False] * num_unknown + invariant)
    inputs = [*consts, *known_args[len(known_consts):]]
    outs = _run_known(scan, known, inputs, len(consts), num_known_carry, params)
    known_outs, extensive = outs[:num_outs], outs[num_outs:]

    intensive = [trace.new_residual(r) for r in drop(residuals, [not i for i in invariant])]
    unknown_outs = trace.record(
        scan, [*intensive, *map(trace.instantiate, keep(args, unknowns)), *map(trace.new_residual, extensive)],
        {"jaxpr": rest, "num_consts": len(intensive) + sum(consts_uk), "num_carry": sum(carry_uk),
         "linear": (*[False] * len(intensive), *keep(linear, unknowns), *[False] * len(extensive)), **params})
    return merge(out_uk, known_outs, unknown_outs)


def _hoist(known: ClosedJaxpr, known_consts: Sequence[Any], num_outs: int) -> tuple[ClosedJaxpr, list[Any], list[Any]]:
    """Compute before the loop what depends on consts only.

    Returns: the body of the loop, whose consts come first; their values; the residuals, values or `Unknown`.
    """
    num_res = len(known.out_avals) - num_outs
    inputs = [*known_consts, *map(Unknown, known.in_avals[len(known_consts):])]
    with scopes(()):  # those of the loop stand at the loop
        jaxpr, outs, consts = partial_eval(jaxpr_as_fun(known), inputs, [True] * num_outs + [False] * num_res)
    return ClosedJaxpr(hoist_consts(jaxpr), ()), consts, outs[num_outs:]


def _run_known(scan: Primitive, known: ClosedJaxpr, inputs: list[Any], num_consts: int, num_carry: int,
               params: dict[str, Any]) -> list[Any]:
    """Run the known scan, if it has anything to compute; an x that comes out again as a y is not copied."""
    forwarded = [i if out >= num_carry and i is not None and i >= num_consts + num_carry else None
                 for out, i in enumerate(forwarded_inputs(known.jaxpr))]
    known = prune_outputs(known, [i is None for i in forwarded])
    outs = iter(())
    if known.out_avals or known.effects:
        outs = iter(scan.bind(*inputs, jaxpr=known, num_consts=num_consts, num_carry=num_carry,
                              linear=(False,) * len(inputs), **params))
    return [next(outs) if i is None else as_result(inputs[i]) for i in forwarded]


def partial_eval_scan_eqn(saveable: Policy, unknowns_in: Sequence[bool], inst_in: Sequence[bool], eqn: JaxprEqn
                          ) -> tuple[JaxprEqn, JaxprEqn, list[bool], list[bool], list[Var]]:
    """Split a scan equation under a checkpoint policy (see transforms/policy)."""
    params = eqn.params
    jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    num_ys = len(jaxpr.out_avals) - num_carry
    consts_uk, init_uk, xs_uk = split(unknowns_in, num_consts, num_carry)

    def step(carry_uk: list[bool]) -> tuple[Any, list[bool]]:
        halves = partial_eval_jaxpr_custom(jaxpr.jaxpr, consts_uk + carry_uk + xs_uk, True,
                                           carry_uk + [False] * num_ys, True, saveable)
        return halves, halves.out_unknowns[:num_carry]

    halves, carry_uk = fixpoint(init_uk, step)
    unknowns, num_res = consts_uk + carry_uk + xs_uk, halves.num_res
    known, staged = ClosedJaxpr(halves.known, jaxpr.consts), ClosedJaxpr(halves.staged, jaxpr.consts)
    res_avals = staged.in_avals[:num_res]
    staged = move_binders_to_back(staged, [True] * num_res + [False] * len(unknowns))
    num_outs, num_known_consts = len(known.out_avals) - num_res, num_consts - sum(consts_uk)
    inside = [False] * num_known_consts + [True] * (len(known.in_avals) - num_known_consts)
    before, loop, varying, const_avals = partial_eval_jaxpr(known, inside, [True] * num_outs + [False] * num_res)
    extensive = varying[num_outs:]
    staged = move_binders_to_front(staged, [False] * len(unknowns) + [not e for e in extensive])
    intensive_res = [Var(aval) for aval in drop(res_avals, extensive)]
    extensive_res = [Var(aval.update(shape=(params["length"], *aval.shape))) for aval in keep(res_avals, extensive)]

    known_linear = drop(params["linear"], unknowns)[num_known_consts:]
    loop_params = {**params, "jaxpr": loop, "num_consts": len(const_avals), "num_carry": num_carry - sum(carry_uk),
                   "linear": (*[False] * len(const_avals), *known_linear)}
    call = _before_and_loop(eqn.primitive, before, len(intensive_res), num_known_consts, loop_params,
                            [v.aval for v in drop(eqn.invars, unknowns)])
    known_eqn = eqn.replace(invars=drop(eqn.invars, unknowns), primitive=closed_call_p, params={"call_jaxpr": call},
                            outvars=[*intensive_res, *drop(eqn.outvars, halves.out_unknowns), *extensive_res],
                            effects=call.effects)
    linear = (*[False] * len(intensive_res), *params["linear"], *[False] * len(extensive_res))
    staged_eqn = eqn.replace(invars=[*intensive_res, *eqn.invars, *extensive_res],
                             outvars=keep(eqn.outvars, halves.out_inst), effects=staged.effects,
                             params={**params, "jaxpr": staged, "num_consts": len(intensive_res) + num_consts,
                                     "linear": linear})
    wanted = [v for v, inst in zip(eqn.invars, inst_in, strict=True) if isinstance(v, Var) and not inst]
    return known_eqn, staged_eqn, halves.out_unknowns, halves.out_inst, [*wanted, *intensive_res, *extensive_res]


def _before_and_loop(scan: Primitive, before: ClosedJaxpr, num_res: int, num_consts: int, params: dict[str, Any],
                     in_avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """Return the program that computes what depends on consts only, and then runs the known loop."""

    def known(*args: Any) -> list[Any]:
        outs = eval_jaxpr(before.jaxpr, before.consts, *args[:num_consts])
        return [*outs[:num_res], *scan.bind(*outs[num_res:], *args[num_consts:], **params)]

    return trace_to_closed_jaxpr(known, in_avals)
