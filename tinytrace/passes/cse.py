"""Common subexpressions: two equations that say the same become one."""
from __future__ import annotations

from collections.abc import Hashable, Sequence

from tinytrace.core.jaxpr import ClosedJaxpr, DropVar, JaxprEqn, Literal
from tinytrace.core.structure import literal_key, typed
from tinytrace.passes.substitution import Substitution


def cse(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with each value computed once; equations with effects stay as they are."""
    known: dict[Hashable, int] = {}
    replaced = Substitution()
    eqns: list[JaxprEqn] = []
    for eqn in closed.jaxpr.eqns:
        eqn = replaced.in_equation(eqn)
        key = None if eqn.effects else key_of(eqn, eqn.invars)
        at = known.get(key) if key is not None else None
        twin = eqns[at] if at is not None else None
        if at is not None and twin is not None and all(type(v) is not DropVar or type(w) is DropVar
                                                       for v, w in zip(twin.outvars, eqn.outvars, strict=True)):
            replaced.update(zip(eqn.outvars, twin.outvars, strict=True))
            eqns[at] = twin.replace(ids=tuple(dict.fromkeys((*twin.ids, *eqn.ids))))
        else:
            if key is not None:
                known[key] = len(eqns)
            eqns.append(eqn)
    outvars = [replaced[x] for x in closed.jaxpr.outvars]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=outvars), closed.consts)


def key_of(eqn: JaxprEqn, operands: Sequence[Hashable]) -> Hashable | None:
    """Return what two equations have in common when they compute the same; None when that cannot be told."""
    same = tuple([literal_key(x) if isinstance(x, Literal) else x for x in operands])
    params = tuple([(k, typed(v)) for k, v in eqn.params.items()]) if eqn.params else ()
    key = eqn.primitive, same, params, tuple([v.aval for v in eqn.outvars])
    try:
        hash(key)
    except TypeError:
        return None
    return key
