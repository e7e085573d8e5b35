"""How a cond is split when some of its operands are unknown: a cond that runs now and one that is left.

Each branch has residuals of its own kind, but all branches of the first cond must give, and all of the second must
take, the same values. So residuals of one type share a place: [x], [x, y] and [y, x, x] become [x, y, x].
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tinytrace.control_flow.bodies import drop, either, keep, merge
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, JaxprEqn, UnusedVar, Var, eval_jaxpr
from tinytrace.core.primitive import Primitive
from tinytrace.transforms.partial_eval import JaxprTrace, partial_eval_jaxpr
from tinytrace.transforms.policy import Policy, partial_eval_jaxpr_custom
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.zeros import zeros

Branches = tuple[ClosedJaxpr, ...]


def partial_eval_cond(cond: Primitive, trace: JaxprTrace, args: Sequence[Any], branches: Branches) -> Any:
    """Run the known half of a cond and record the unknown half in `trace`."""
    if not trace.is_known(args[0]):
        return trace.record(cond, args, {"branches": branches})
    unknown = [not trace.is_known(x) for x in args[1:]]
    out_unknown = [False] * len(branches[0].out_avals)
    for branch in branches:
        out_unknown = either(out_unknown, partial_eval_jaxpr(branch, unknown, False)[2])
    halves = [partial_eval_jaxpr(branch, unknown, out_unknown) for branch in branches]
    avals, places = share_places([res_avals for _, _, _, res_avals in halves])
    num_outs = len(out_unknown) - sum(out_unknown)
    known = tuple(_give_all(half[0], avals, at, num_outs) for half, at in zip(halves, places, strict=True))
    rest = _take_all([half[1] for half in halves], avals, places)
    outs = cond.bind(args[0], *drop(args[1:], unknown), branches=known)
    residuals = map(trace.new_residual, outs[num_outs:])
    unknown_outs = trace.record(cond, [args[0], *residuals, *keep(args[1:], unknown)], {"branches": rest})
    return merge(out_unknown, outs[:num_outs], unknown_outs)


def partial_eval_cond_eqn(saveable: Policy, unknowns_in: Sequence[bool], inst_in: Sequence[bool], eqn: JaxprEqn) -> Any:
    """Split a cond equation under a checkpoint policy (see transforms/policy)."""
    branches: Branches = eqn.params["branches"]
    index_unknown, *unknown = unknowns_in
    wanted = [v for v, inst in zip(eqn.invars, inst_in, strict=True) if isinstance(v, Var) and not inst]
    everything = [True] * len(eqn.outvars)
    if index_unknown:
        return None, eqn, everything, everything, wanted
    out_unknown = [False] * len(eqn.outvars)
    for branch in branches:
        split = partial_eval_jaxpr_custom(branch.jaxpr, unknown, True, False, True, saveable)
        out_unknown = either(out_unknown, split.out_unknowns)
    splits = [partial_eval_jaxpr_custom(b.jaxpr, unknown, True, out_unknown, True, saveable) for b in branches]
    known = [ClosedJaxpr(s.known, b.consts) for s, b in zip(splits, branches, strict=True)]
    staged = [ClosedJaxpr(s.staged, b.consts) for s, b in zip(splits, branches, strict=True)]
    avals, places = share_places([b.in_avals[:s.num_res] for b, s in zip(staged, splits, strict=True)])
    num_outs = len(out_unknown) - sum(out_unknown)
    known_branches = tuple(_give_all(b, avals, at, num_outs) for b, at in zip(known, places, strict=True))
    staged_branches = _take_all(staged, avals, places)
    residuals = [Var(aval) for aval in avals]
    known_eqn = eqn.replace(
        invars=drop(eqn.invars, unknowns_in), outvars=[*drop(eqn.outvars, out_unknown), *residuals],
        params={"branches": known_branches}, effects=_effects(known_branches))
    staged_eqn = eqn.replace(
        invars=[eqn.invars[0], *residuals, *eqn.invars[1:]], outvars=keep(eqn.outvars, splits[0].out_inst),
        params={"branches": staged_branches}, effects=_effects(staged_branches))
    return known_eqn, staged_eqn, out_unknown, splits[0].out_inst, [*wanted, *residuals]


def share_places(res_avals: Sequence[Sequence[ShapedArray]]) -> tuple[list[ShapedArray], list[list[int]]]:
    """Return the types of all places, and per branch the places of its residuals."""
    positions: dict[tuple[ShapedArray, int], int] = {}
    places = []
    for avals in res_avals:
        seen: Counter[ShapedArray] = Counter()
        own = []
        for aval in avals:
            own.append(positions.setdefault((aval, seen[aval]), len(positions)))
            seen[aval] += 1
        places.append(own)
    return [aval for aval, _ in positions], places


def _give_all(branch: ClosedJaxpr, avals: Sequence[ShapedArray], places: Sequence[int], num_outs: int) -> ClosedJaxpr:
    """Let a branch give zeros at the places of residuals that it does not have."""

    def known(*args: Any) -> list[Any]:
        outs = eval_jaxpr(branch.jaxpr, branch.consts, *args)
        residuals = [zeros(aval) for aval in avals]
        for place, value in zip(places, outs[num_outs:], strict=True):
            residuals[place] = value
        return [*outs[:num_outs], *residuals]

    return trace_to_closed_jaxpr(known, branch.in_avals)


def _take_all(branches: Sequence[ClosedJaxpr], avals: Sequence[ShapedArray],
              places: Sequence[Sequence[int]]) -> Branches:
    """Let each branch take the residuals of all of them."""
    taking = []
    unused = [UnusedVar(aval) for aval in avals]
    for branch, own in zip(branches, places, strict=True):
        invars = branch.jaxpr.invars
        residuals: list[Var] = list(unused)
        for place, var in zip(own, invars[:len(own)], strict=True):
            residuals[place] = var
        taking.append(ClosedJaxpr(branch.jaxpr.replace(invars=[*residuals, *invars[len(own):]], debug_info=None),
                                  branch.consts))
    return tuple(taking)


def _effects(branches: Branches) -> frozenset[Any]:
    return frozenset().union(*(b.effects for b in branches))
