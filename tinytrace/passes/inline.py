"""Inline calls: an equation that only names a program (`pjit`, a custom rule, a checkpoint) becomes that program.

So does an equation on elements that are only kept: a program that computes in a wider type (`wider_types.py`); and a
division of complex numbers by a number that is known (`known_divisors.py`).
"""
from __future__ import annotations

from tinytrace.core.jaxpr import Atom, ClosedJaxpr, DropVar, JaxprEqn, Literal, Var, subjaxprs
from tinytrace.core.kinds import Call, kind_of
from tinytrace.passes.known_divisors import by_positive_number
from tinytrace.passes.wider_types import in_wider_types


def inline(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with the equations of every call in the place of the call.

    Constants of called programs become constants of the whole.
    """
    inlined = _Inliner()
    jaxpr = closed.jaxpr
    for v, const in zip(jaxpr.constvars, closed.consts, strict=True):
        inlined.constants[id(const), v.aval] = v, const
        inlined.constvars.append(v)
        inlined.consts.append(const)
    names: dict[Var, Atom] = {v: v for v in (*jaxpr.constvars, *jaxpr.invars)}
    inlined.run(jaxpr.eqns, names, fresh=False, ids=None)
    outvars = [_renamed(x, names) for x in jaxpr.outvars]
    result = jaxpr.replace(constvars=inlined.constvars, outvars=outvars, eqns=inlined.eqns)
    return ClosedJaxpr(result, inlined.consts)


class _Inliner:
    """Collects equations; `fresh` says whether they need variables of their own (a program may be called twice)."""

    def __init__(self) -> None:
        self.eqns: list[JaxprEqn] = []
        self.constvars: list[Var] = []
        self.consts: list[object] = []
        self.constants: dict[object, tuple[Var, object]] = {}

    def run(self, eqns: list[JaxprEqn], names: dict[Var, Atom], fresh: bool, ids: tuple[int, ...] | None) -> None:
        """Add `eqns`; `ids`: the equation that they stand for, if its program is no part of the user's."""
        for eqn in eqns:
            if ids is not None:
                eqn = eqn.replace(ids=ids)
            invars = [x if isinstance(x, Literal) else names[x] for x in eqn.invars]
            wider = in_wider_types(eqn)
            called = wider or by_positive_number(eqn, invars) or called_program(eqn)
            if called is None:
                outvars = [type(v)(v.aval) if fresh else v for v in eqn.outvars]
                names.update(zip(eqn.outvars, outvars, strict=True))
                same = not fresh and invars == eqn.invars
                self.eqns.append(eqn if same else eqn.replace(invars=invars, outvars=outvars))
                continue
            inner: dict[Var, Atom] = dict(zip(called.jaxpr.invars, invars, strict=True))
            for v, const in zip(called.jaxpr.constvars, called.consts, strict=True):
                inner[v] = self._constant(v, const)
            stands_for = eqn.ids if eqn.primitive.composite or wider else None
            self.run(called.jaxpr.eqns, inner, fresh=True, ids=ids or stands_for)
            for v, result in zip(eqn.outvars, called.jaxpr.outvars, strict=True):
                if type(v) is not DropVar:
                    names[v] = _renamed(result, inner)

    def _constant(self, v: Var, const: object) -> Var:
        key = id(const), v.aval
        if key not in self.constants:
            self.constants[key] = Var(v.aval), const
            self.constvars.append(self.constants[key][0])
            self.consts.append(const)
        return self.constants[key][0]


def _renamed(atom: Atom, names: dict[Var, Atom]) -> Atom:
    return atom if isinstance(atom, Literal) else names[atom]


def called_program(eqn: JaxprEqn) -> ClosedJaxpr | None:
    """Return the program that an equation does nothing but call."""
    if not eqn.primitive.composite and not (eqn.params and any(True for _ in subjaxprs(eqn.params))):
        return None
    kind = kind_of(eqn)
    return kind.jaxpr if isinstance(kind, Call) else None
