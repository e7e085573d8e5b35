"""Lanes of a mapped loop whose results nobody needs do not run.

    c = while[cond_jaxpr={ in (p,) }] a          n = not m
    d = select_n m c b                           c = while[cond_jaxpr={ q = and p n  in (q,) }] n a
                                                 d = select_n m c b

A `cond` that is mapped computes both branches, and a loop in one of them ran until the last element was done, of those
too that take the other branch: a series that does not converge there went on to its end. The rule: all results that are
needed of a loop with a predicate for each element are needed on one side of a truth value (`melding.py`), which depends
on none of them.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.control_flow.while_loop import while_p
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var
from tinytrace.passes.melding import Sides, needed_sides
from tinytrace.primitives.bitwise import and_p, not_p


def stop_unneeded_lanes(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with loops in which the lanes that nobody needs stop at once."""
    loops = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive is while_p and _predicate(eqn).aval.shape]
    if not loops or any(eqn.effects for eqn in closed.jaxpr.eqns):
        return closed
    needed, eqns = needed_sides(closed.jaxpr), list(closed.jaxpr.eqns)
    for loop in loops:
        for chooser, side in sorted(_sides(loop, needed), key=lambda each: str(each[1])):
            eqns = _masked(eqns, loop, chooser, side)
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _predicate(loop: JaxprEqn) -> Atom:
    predicate: Atom = loop.params["cond_jaxpr"].jaxpr.outvars[0]
    return predicate


def _sides(loop: JaxprEqn, needed: dict[Var, Sides]) -> Sides:
    """Return truth values for each lane, and which of both each has wherever one of its results is needed."""
    read = [v for v in loop.outvars if v in needed]
    lanes = _predicate(loop).aval.shape
    if not read or any(v.aval.shape != lanes for v in read):
        return frozenset()
    return frozenset(side for side in frozenset.intersection(*(needed[v] for v in read))
                     if side[0].aval.shape == lanes)


def _masked(eqns: list[JaxprEqn], loop: JaxprEqn, chooser: Var, side: int) -> list[JaxprEqn]:
    """Return a program in which a lane of a loop runs on that side of a truth value only, which is computed before."""
    k = next(k for k, eqn in enumerate(eqns) if eqn.outvars == loop.outvars)
    moved = _makers_behind(eqns, k, chooser)
    if moved is None or _is_masked(eqns[k], eqns[:k], chooser, side):
        return eqns
    loop, mask = eqns[k], chooser
    before = [eqn for eqn in eqns[k + 1:] if eqn in moved]
    if not side:
        mask = Var(chooser.aval)
        before.append(loop.replace(primitive=not_p, invars=[chooser], outvars=[mask], params={}))
    rest = [eqn for eqn in eqns[k + 1:] if eqn not in moved]
    return [*eqns[:k], *before, _with_mask(loop, mask), *rest]


def _is_masked(loop: JaxprEqn, before: Sequence[JaxprEqn], chooser: Var, side: int) -> bool:
    """Does a loop ask this already, as one does of a program that is simplified again?"""
    masks = loop.invars[:loop.params["cond_nconsts"]]
    opposites = [eqn.outvars[0] for eqn in before if eqn.primitive is not_p and eqn.invars[0] is chooser]
    return chooser in masks if side else not set(opposites).isdisjoint(masks)


def _makers_behind(eqns: Sequence[JaxprEqn], k: int, wanted: Var) -> list[JaxprEqn] | None:
    """Return the equations behind number k that a variable is made by; None if it depends on that one."""
    unknown: set[Atom] = {wanted}
    moved: list[JaxprEqn] = []
    for eqn in reversed(eqns[k + 1:]):
        if not unknown.isdisjoint(eqn.outvars):
            moved.append(eqn)
            unknown.update(eqn.invars)
    return moved if unknown.isdisjoint(eqns[k].outvars) else None


def _with_mask(loop: JaxprEqn, mask: Var) -> JaxprEqn:
    """Return a loop whose condition asks a mask, too, which is its first constant."""
    closed: ClosedJaxpr = loop.params["cond_jaxpr"]
    own, wants, inner = Var(mask.aval), closed.jaxpr.outvars[0], Var(mask.aval)
    asked = loop.replace(primitive=and_p, invars=[wants, inner], outvars=[own], params={})
    jaxpr: Jaxpr = closed.jaxpr.replace(invars=[inner, *closed.jaxpr.invars], eqns=[*closed.jaxpr.eqns, asked],
                                        outvars=[own])
    params = {**loop.params, "cond_jaxpr": ClosedJaxpr(jaxpr, closed.consts),
              "cond_nconsts": loop.params["cond_nconsts"] + 1}
    return loop.replace(invars=[mask, *loop.invars], params=params)
