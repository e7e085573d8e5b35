"""What each turn of a loop would compute again is computed once, before the loop: loop-invariant code motion.

    scan[jaxpr={ lambda a c. d = div a b; e = dot_general d c; in (e,) }] a c

    d = div a b
    scan[jaxpr={ lambda d c. e = dot_general d c; in (e,) }] d c

A carry that no turn changes is one of the loop's constants first. An equation varies if it reads a carry, a slice or
what varies; of the others those go before the loop that save more than it takes to write their results once and to
read them in each turn. What only moves or repeats elements stays where it is read. Source: A. Aho, M. Lam, R. Sethi,
J. Ullman, "Compilers" (2nd ed., 2006), section 9.5; XLA's WhileLoopInvariantCodeMotion.
"""
from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TypeAlias

from tinytrace.control_flow.bodies import drop, keep, rearranged, split
from tinytrace.control_flow.scan import scan_p
from tinytrace.control_flow.while_loop import while_p
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.passes.loop_costs import LEAST, MOST, READ, WRITE, may_run_before, work_of
from tinytrace.passes.loop_layout import LOOPS, TURNS
from tinytrace.passes.substitution import Substitution
from tinytrace.records import NamedTuple

Makers: TypeAlias = dict[Atom, JaxprEqn]


def hoist_invariants(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with what each turn of a loop would compute again computed before the loop."""
    if not any(eqn.primitive in LOOPS for eqn in closed.jaxpr.eqns):
        return closed
    eqns: list[JaxprEqn] = []
    replaced = Substitution()
    for eqn in map(replaced.in_equation, closed.jaxpr.eqns):
        if eqn.primitive is scan_p:
            eqns += _scan(eqn, replaced)
        else:
            eqns += _while(eqn, replaced) if eqn.primitive is while_p else [eqn]
    outvars = [replaced[x] for x in closed.jaxpr.outvars]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=outvars), closed.consts)


class _Body(NamedTuple):
    """A body of a loop, what its constants are outside of it, and what is to be computed before."""

    program: ClosedJaxpr
    operands: tuple[Atom, ...]
    before: tuple[JaxprEqn, ...] = ()


def _scan(eqn: JaxprEqn, replaced: Substitution) -> list[JaxprEqn]:
    """Return a scan and, before it, what it computed in each turn; `replaced` learns of carries that are constants."""
    eqn = _scan_of_what_changes(eqn, replaced)
    params, consts = eqn.params, eqn.params["num_consts"]
    if params["length"] < 2:
        return [eqn]
    body = _without_invariants(_Body(params["jaxpr"], tuple(eqn.invars[:consts])), params["length"])
    if not body.before:
        return [eqn]
    added = len(body.operands) - consts
    changed = {"jaxpr": body.program, "num_consts": len(body.operands), "linear": (False,) * added + params["linear"]}
    return [*body.before, eqn.replace(invars=[*body.operands, *eqn.invars[consts:]], params={**params, **changed})]


def _while(eqn: JaxprEqn, replaced: Substitution) -> list[JaxprEqn]:
    """Return a loop of unknown length and, before it, what its condition or its body computed in each turn."""
    eqn = _while_of_what_changes(eqn, replaced)
    params = eqn.params
    middle = params["cond_nconsts"] + params["body_nconsts"]
    cond = _without_invariants(_Body(params["cond_jaxpr"], tuple(eqn.invars[:params["cond_nconsts"]])), TURNS)
    body = _without_invariants(_Body(params["body_jaxpr"], tuple(eqn.invars[params["cond_nconsts"]:middle])), TURNS)
    if not (cond.before or body.before):
        return [eqn]
    changed = {"cond_jaxpr": cond.program, "cond_nconsts": len(cond.operands),
               "body_jaxpr": body.program, "body_nconsts": len(body.operands)}
    operands = [*cond.operands, *body.operands, *eqn.invars[middle:]]
    return [*cond.before, *body.before, eqn.replace(invars=operands, params={**params, **changed})]


def _scan_of_what_changes(eqn: JaxprEqn, replaced: Substitution) -> JaxprEqn:
    """Return a scan whose carries all change; what reads another one's result will read what the loop was given."""
    params, body = eqn.params, eqn.params["jaxpr"]
    consts, carries, xs = split(eqn.invars, params["num_consts"], params["num_carry"])
    results, ys = split(eqn.outvars, len(carries))
    steady = _steady_carries(body.jaxpr, len(consts), carries, results)
    if not any(steady):
        return eqn
    replaced.update(zip(keep(results, steady), keep(carries, steady), strict=True))
    order = _steady_first(len(consts), steady, len(xs))
    left = (*drop(range(len(carries)), steady), *range(len(carries), len(eqn.outvars)))
    changed = {"jaxpr": rearranged(body, order, left), "num_consts": len(consts) + sum(steady),
               "num_carry": len(carries) - sum(steady), "linear": tuple(params["linear"][k] for k in order)}
    return eqn.replace(invars=[eqn.invars[k] for k in order], outvars=[*drop(results, steady), *ys],
                       params={**params, **changed})


def _while_of_what_changes(eqn: JaxprEqn, replaced: Substitution) -> JaxprEqn:
    """The same of a loop of unknown length; one of which no carry changes may have no end."""
    params, cond, body = eqn.params, eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    of_cond, of_body, carries = split(eqn.invars, params["cond_nconsts"], params["body_nconsts"])
    steady = _steady_carries(body.jaxpr, len(of_body), carries, eqn.outvars)
    if not any(steady) or all(steady):
        return eqn
    given = keep(carries, steady)
    replaced.update(zip(keep(eqn.outvars, steady), given, strict=True))
    changed = {"cond_jaxpr": rearranged(cond, _steady_first(len(of_cond), steady), (0,)),
               "body_jaxpr": rearranged(body, _steady_first(len(of_body), steady),
                                        tuple(drop(range(len(carries)), steady))),
               "cond_nconsts": len(of_cond) + len(given), "body_nconsts": len(of_body) + len(given)}
    return eqn.replace(invars=[*of_cond, *given, *of_body, *given, *drop(carries, steady)],
                       outvars=drop(eqn.outvars, steady), params={**params, **changed})


def _steady_carries(body: Jaxpr, consts: int, given: Sequence[Atom], results: Sequence[Var]) -> list[bool]:
    """Return for each carry whether no turn changes it."""
    return [body.outvars[k] is body.invars[consts + k]
            and (type(result) is DropVar or given[k].aval == result.aval) for k, result in enumerate(results)]


def _steady_first(consts: int, steady: Sequence[bool], others: int = 0) -> tuple[int, ...]:
    """Return the order of a body's operands in which steady carries are the last of the constants."""
    end = consts + len(steady)
    carries = range(consts, end)
    return (*range(consts), *keep(carries, steady), *drop(carries, steady), *range(end, end + others))


def _without_invariants(body: _Body, turns: int) -> _Body:
    """Return a body that reads as constants what it computed of constants alone, where that pays."""
    jaxpr = body.program.jaxpr
    makers = _invariants(jaxpr, len(body.operands))
    order = list(dict.fromkeys(makers.values()))
    steady = set(map(id, order))
    others = {x for eqn in jaxpr.eqns if id(eqn) not in steady for x in eqn.invars if isinstance(x, Var)}
    read = {x for x in (*others, *jaxpr.outvars) if x in makers}
    moved: list[Var] = []
    before: set[int] = set()
    stays: set[int] = set()
    for eqn in reversed(order):
        wanted = [v for v in eqn.outvars if v in read]
        if wanted and _pays(wanted, makers, others, turns):
            moved += wanted
            before.add(id(eqn))
        elif wanted:
            stays.add(id(eqn))
            read.update(x for x in eqn.invars if x in makers)
        if id(eqn) in before:
            before.update(id(makers[x]) for x in eqn.invars if x in makers)
    if not moved:
        return body
    outside: dict[Atom, Atom] = dict(zip(jaxpr.invars, body.operands, strict=False))
    copies: list[JaxprEqn] = []
    for eqn in order:
        if id(eqn) in before:
            results = [Var(v.aval) for v in eqn.outvars]
            copies.append(eqn.replace(invars=[x if isinstance(x, Literal) else outside[x] for x in eqn.invars],
                                      outvars=results))
            outside.update(zip(eqn.outvars, results, strict=True))
    inside = [eqn for eqn in jaxpr.eqns if id(eqn) not in steady or id(eqn) in stays]
    program = ClosedJaxpr(jaxpr.replace(invars=[*moved, *jaxpr.invars], eqns=inside), body.program.consts)
    return _Body(program, (*(outside[v] for v in moved), *body.operands), tuple(copies))


def _invariants(jaxpr: Jaxpr, num_consts: int) -> Makers:
    """Return what is computed of the first inputs alone, and the equations that make it, in their order."""
    steady: set[Atom] = set(jaxpr.invars[:num_consts])
    makers: Makers = {}
    for eqn in jaxpr.eqns:
        if eqn.outvars and not eqn.effects and all(isinstance(x, Literal) or x in steady for x in eqn.invars) \
                and may_run_before(eqn):
            steady.update(eqn.outvars)
            makers.update(dict.fromkeys(eqn.outvars, eqn))
    return makers


def _pays(results: Sequence[Var], makers: Makers, others: Set[Var], turns: int) -> bool:
    """Do the turns save more than it takes to write the results once and to read them in each turn?

    They are read instead of what they are made of, if that is not among what `others` read.
    """
    work, largest = 0, 0
    seen: set[Atom] = set(results)
    pending = [(results[0], results[0].aval.size)]  # values, and how many of their elements are read
    while pending:
        v, count = pending.pop()
        if (maker := makers.get(v)) is None:
            largest = max(largest, 0 if v in others else count)
            continue
        work += (own := work_of(maker))
        new = [x for x in maker.invars if isinstance(x, Var) and x not in seen]
        seen.update(new)
        pending += [(x, x.aval.size if own else min(count, x.aval.size)) for x in new]
    size = sum(v.aval.size for v in results)
    if work < LEAST or size > max(largest, MOST):
        return False
    return work * (turns - 1) > size * (WRITE + (READ if size > largest else 0) * turns)
