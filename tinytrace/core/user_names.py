"""The user's own names: of arguments, and of results that are assigned where they are computed.

    def f(x):                    { lambda ; x:f32[3]. let
        y = jnp.sin(x)               y:f32[3] = sin x
        return y * 2                 a:f32[3] = mul y 2.0 in (a,) }
"""
from __future__ import annotations

import dis
import itertools
import re
from collections.abc import Iterator, Mapping
from types import CodeType, MappingProxyType

from tinytrace.core.jaxpr import DropVar, Jaxpr, JaxprEqn, Var, subjaxprs
from tinytrace.core.source_info import SourceInfo

STORES = frozenset({"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"})


def user_names(jaxpr: Jaxpr) -> dict[Var, str]:
    """Return a name for each variable of `jaxpr`, and of the programs inside, that the user gave one.

    A name that is given again is followed by a number: `x`, `x_1`, `x_2`.
    """
    assignments: dict[CodeType, dict[int, str]] = {}
    taken: set[str] = set()
    names: dict[Var, str] = {}
    for var, wanted in _wanted(jaxpr, assignments):
        if var not in names:
            candidates = itertools.chain([wanted], (f"{wanted}_{n}" for n in itertools.count(1)))
            names[var] = next(name for name in candidates if name not in taken)
            taken.add(names[var])
    return names


def assigned_name(source: SourceInfo | None) -> str | None:
    """Return the name that the value of an operation is assigned to where it is computed; None if there is none."""
    return _assignments(source.code).get(source.instruction) if source is not None else None


def _wanted(jaxpr: Jaxpr, assignments: dict[CodeType, dict[int, str]], around: SourceInfo | None = None,
            handed: Mapping[Var, str] = MappingProxyType({})) -> Iterator[tuple[Var, str]]:
    """Yield variables with the names that they should have, in the order of printing.

    Args:
      around: where the equation was written whose program this is; what a library wrote for it has no name.
      handed: the names, outside, of what inputs stand for: what a body captures has the name that it has there.
    """
    names: dict[Var, str] = {}
    paths = jaxpr.debug_info.arg_names if jaxpr.debug_info is not None else ()
    for var, path in itertools.zip_longest(jaxpr.invars, paths[:len(jaxpr.invars)]):
        if name := re.sub(r"\W+", "_", path or "").strip("_") or handed.get(var):
            names[var] = name
            yield var, name
    for eqn, following in itertools.zip_longest(jaxpr.eqns, jaxpr.eqns[1:]):
        source = eqn.source
        if source is not None and not _same_place(source, following.source if following is not None else None):
            found = assignments.setdefault(source.code, {}) or _assignments(source.code)
            assignments[source.code] = found
            assigned = found.get(source.instruction)
            results = [v for v in eqn.outvars if not isinstance(v, DropVar)]
            if assigned is not None and len(results) == 1 and not (around and _same_place(source, around)):
                names[results[0]] = assigned
                yield results[0], assigned
        for inner in subjaxprs(eqn.params):
            yield from _wanted(inner, assignments, source, _handed(eqn, inner, names))


def _handed(eqn: JaxprEqn, inner: Jaxpr, names: Mapping[Var, str]) -> dict[Var, str]:
    """Return the names of an equation's operands by the inputs of a program inside it that stand for them.

    A program takes the last operands: all of a call or a scan, those behind the index of a branch. The condition of a
    while loop takes others, if the body has constants of its own.
    """
    if eqn.params.get("body_nconsts") and inner is eqn.params["cond_jaxpr"].jaxpr:
        return {}
    operands = eqn.invars[max(0, len(eqn.invars) - len(inner.invars)):]
    pairs = zip(inner.invars, operands, strict=False)
    return {var: names[x] for var, x in pairs if isinstance(x, Var) and x in names and var.aval == x.aval}


def _same_place(source: SourceInfo, other: SourceInfo | None) -> bool:
    """Say whether the next equation belongs to the same expression: only the last one computes its value."""
    return other is not None and source.code is other.code and source.instruction == other.instruction


def _assignments(code: CodeType) -> dict[int, str]:
    """Return the names that values are assigned to, by the offsets of the instructions that compute the values.

    While an instruction runs, the frame may be in any of the cache entries behind it.
    """
    pairs = itertools.pairwise(dis.get_instructions(code))
    return {offset: store.argval for computed, store in pairs if store.opname in STORES
            for offset in range(computed.offset, store.offset, 2)}
