"""Of two calls of a function of which no element needs both, one is left: of the operand that is chosen.

    a = erfc x                          d = select_n p x y
    b = erfc y                      XX

The rule: wherever one result is needed a truth value says so, wherever the other is it says the opposite, through all
that is computed of them element by element. Vectors compute both sides of a choice, so one function is saved for the
price of a choice, and the bits are the same. Source: B. Coutinho, D. Sampaio, F. Pereira, W. Meira, "Divergence
Analysis and Optimizations" (2011), which calls it branch fusion.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeAlias

from tinytrace.core.dtypes import BOOL
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tinytrace.core.kinds import Scalar
from tinytrace.passes.algebra import algebra
from tinytrace.passes.cse import cse
from tinytrace.passes.dce import dce
from tinytrace.passes.substitution import Substitution
from tinytrace.primitives.broadcasting import broadcast_in_dim_p
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.primitives.elementwise import Elementwise
from tinytrace.primitives.select import select_n_p
from tinytrace.records import NamedTuple

Sides: TypeAlias = frozenset[tuple[Var, int]]
"""Truth values, and which of both each has, wherever something is needed."""
Makers: TypeAlias = dict[Var, JaxprEqn]


class Pair(NamedTuple):
    """Two calls of one function: the first is needed where the truth value is False, the second where it is True."""

    first: JaxprEqn
    second: JaxprEqn
    chooser: Var


def meld_calls(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with one call of a function in place of two of which no element needs both."""
    while pairs := _pairs(closed.jaxpr):
        jaxpr = closed.jaxpr
        for pair in pairs:
            jaxpr = _melded(jaxpr, pair)
        closed = dce(algebra(cse(ClosedJaxpr(jaxpr, closed.consts))))  # what follows from both may be the same by now
    return closed


def _pairs(jaxpr: Jaxpr) -> list[Pair]:
    """Return pairs of calls that may be melded, none of which depends on another pair's results."""
    if all(eqn.primitive is not select_n_p for eqn in jaxpr.eqns) or any(eqn.effects for eqn in jaxpr.eqns):
        return []
    calls: dict[Hashable, list[JaxprEqn]] = {}
    for eqn in jaxpr.eqns:
        if (key := _function(eqn)) is not None:
            calls.setdefault(key, []).append(eqn)
    if all(len(alike) < 2 for alike in calls.values()):
        return []
    makers: Makers = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    needed, places = needed_sides(jaxpr), {v: k for k, v in enumerate((*jaxpr.constvars, *jaxpr.invars, *makers))}
    found: list[Pair] = []
    melded: set[Var] = set()
    for alike in calls.values():
        for pair in _opposites(alike, needed, places):
            results = {pair.first.outvars[0], pair.second.outvars[0]}
            operands = [pair.chooser, *pair.first.invars, *pair.second.invars]
            if melded.isdisjoint(results) and not _depend(operands, melded | results, makers) \
                    and not any(_is_repeated(x, makers) for x in operands):
                found.append(pair)
                melded |= results
    return found


def _function(eqn: JaxprEqn) -> Hashable | None:
    """Return what calls of one function of csrc/math have in common; None for what calls none, or for scalars too."""
    if not isinstance(eqn.primitive, Elementwise):
        return None
    operands, result = [x.aval for x in eqn.invars], eqn.outvars[0].aval
    if any(x.shape != result.shape for x in operands) or any(isinstance(x, Literal) for x in eqn.invars):
        return None
    kind = eqn.primitive.lower(operands, [result], **eqn.params)
    return (kind.operation, *operands, result) if isinstance(kind, Scalar) and kind.operation.calls else None


def needed_sides(jaxpr: Jaxpr) -> dict[Var, Sides]:
    """Return of each variable which truth values have which side wherever an element of it is needed.

    A truth value may choose as an integer, too, as that of a mapped `cond` does.
    """
    truths = {eqn.outvars[0]: eqn.invars[0] for eqn in jaxpr.eqns if eqn.primitive is convert_element_type_p
              and isinstance(eqn.invars[0], Var) and eqn.invars[0].aval.dtype == BOOL}
    needed: dict[Var, Sides] = {v: frozenset() for v in jaxpr.outvars if isinstance(v, Var)}
    for eqn in reversed(jaxpr.eqns):
        read = [needed[v] for v in eqn.outvars if v in needed]
        everywhere = frozenset.intersection(*read) if read else frozenset()
        by_elements = isinstance(eqn.primitive, Elementwise) or eqn.primitive is select_n_p
        for k, x in enumerate(eqn.invars):
            if isinstance(x, Literal):
                continue
            same = by_elements and x.aval.shape == eqn.outvars[0].aval.shape
            sides = everywhere if same else frozenset(side for side in everywhere if not side[0].aval.shape)
            chooser = eqn.invars[0]
            chooser = truths.get(chooser, chooser) if isinstance(chooser, Var) and len(eqn.invars) == 3 else chooser
            if eqn.primitive is select_n_p and k and isinstance(chooser, Var) and chooser.aval.dtype == BOOL:
                sides |= {(chooser, k - 1)}
            needed[x] = needed[x] & sides if x in needed else sides
    return needed


def _opposites(alike: Sequence[JaxprEqn], needed: dict[Var, Sides], places: dict[Var, int]) -> Iterator[Pair]:
    """Yield pairs of calls that are needed on opposite sides of a truth value, those of innermost choices first."""
    by_side: dict[tuple[Var, int], list[JaxprEqn]] = {}
    for eqn in alike:
        for side in needed.get(eqn.outvars[0], ()):
            by_side.setdefault(side, []).append(eqn)
    sizes = {chooser: len(eqns) + len(by_side[chooser, 0]) for (chooser, side), eqns in by_side.items()
             if side and (chooser, 0) in by_side}
    for chooser in sorted(sizes, key=lambda chooser: (sizes[chooser], places[chooser])):
        for first, second in zip(by_side[chooser, 0], by_side[chooser, 1], strict=False):
            yield Pair(first, second, chooser)


def _depend(operands: Iterable[Atom], results: set[Var], makers: Makers) -> bool:
    """Does any of some operands depend on one of some results?"""
    seen: set[Atom] = set()
    waiting = list(operands)
    while waiting:
        x = waiting.pop()
        if isinstance(x, Literal) or x in seen:
            continue
        if x in results:
            return True
        seen.add(x)
        waiting += makers[x].invars if x in makers else ()
    return False


def _is_repeated(x: Atom, makers: Makers) -> bool:
    """Is an operand a smaller array that is repeated? Then its call is as small."""
    maker = makers.get(x) if isinstance(x, Var) else None
    return maker is not None and maker.primitive is broadcast_in_dim_p and maker.invars[0].aval.size < x.aval.size


def _melded(jaxpr: Jaxpr, pair: Pair) -> Jaxpr:
    """Return a program with one call, as soon as its operands are known; what reads it earlier waits for it."""
    first, second, chooser = pair
    result, replaced = first.outvars[0], Substitution()
    replaced.update([(second.outvars[0], result)])
    eqns: list[JaxprEqn] = []
    waiting: list[JaxprEqn] = []
    late: set[Atom] = {result}
    unknown = {chooser, *first.invars, *second.invars}.difference(jaxpr.invars, jaxpr.constvars)
    calls = _call(pair)
    for eqn in jaxpr.eqns:
        if not unknown and calls:
            eqns += [*calls, *waiting]
            calls = []
        if first.outvars[0] in eqn.outvars or second.outvars[0] in eqn.outvars:
            continue
        eqn = replaced.in_equation(eqn)
        if calls and not late.isdisjoint(eqn.invars):
            waiting.append(eqn)
            late.update(eqn.outvars)
        else:
            eqns.append(eqn)
            unknown.difference_update(eqn.outvars)
    return jaxpr.replace(eqns=eqns, outvars=[replaced[x] for x in jaxpr.outvars])


def _call(pair: Pair) -> list[JaxprEqn]:
    """Return the choices of the operands, and the call of what is chosen."""
    first, second, chooser = pair
    ids = tuple(dict.fromkeys((*first.ids, *second.ids)))
    operands: list[Atom] = []
    eqns: list[JaxprEqn] = []
    for x, y in zip(first.invars, second.invars, strict=True):
        if x is not y:
            chosen = Var(select_n_p.abstract_eval(chooser.aval, x.aval, y.aval))
            eqns.append(first.replace(primitive=select_n_p, invars=[chooser, x, y], outvars=[chosen], params={},
                                      ids=ids))
            x = chosen
        operands.append(x)
    return [*eqns, first.replace(invars=operands, ids=ids)]
