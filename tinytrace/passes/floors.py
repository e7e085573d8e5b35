"""Division by a power of two that rounds down is a shift, and what it leaves are the lowest bits.

`x // 8` and `x % 8` are divisions that round towards zero, and corrections where the signs of the two differ. In two's
complement a shift to the right rounds down by itself. Source: H. Warren, "Hacker's Delight" (2012), chapter 10.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal, Var
from tinytrace.primitives.arithmetic import add_p, div_p, rem_p, sub_p
from tinytrace.primitives.bitwise import and_p, shift_right_arithmetic_p
from tinytrace.primitives.comparison import lt_p, ne_p
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.primitives.rounding import sign_p
from tinytrace.primitives.select import select_n_p

Found = dict[str, Atom]
Makers = dict[Var, JaxprEqn]

# What is written as a tuple is an equation: a primitive and its operands. A word stands for any one atom.
_QUOTIENT, _REST = (div_p, "x", "d"), (rem_p, "x", "d")
_ROUNDED_UP = (and_p, (ne_p, (sign_p, "x"), 1), (ne_p, _REST, 0))
_IS_NEGATIVE = (and_p, (ne_p, (lt_p, _REST, 0), False), (ne_p, _REST, 0))
FLOOR = (select_n_p, _ROUNDED_UP, _QUOTIENT, (sub_p, _QUOTIENT, 1))
MODULO = (select_n_p, _IS_NEGATIVE, _REST, (add_p, _REST, "d"))


def floors(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with floor divisions and remainders by powers of two as shifts and masks."""
    if not any(eqn.primitive is select_n_p for eqn in closed.jaxpr.eqns):
        return closed
    makers: Makers = {}
    eqns: list[JaxprEqn] = []
    for eqn in closed.jaxpr.eqns:
        if eqn.primitive is select_n_p and eqn.outvars[0].aval.dtype.kind == "i":
            eqn = _shifted(eqn, makers) or eqn
        makers.update((v, eqn) for v in eqn.outvars)
        eqns.append(eqn)
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _shifted(eqn: JaxprEqn, makers: Makers) -> JaxprEqn | None:
    """Return the shift or the mask that a selection is the same as."""
    for pattern in (FLOOR, MODULO):
        found: Found = {}
        if not matches(pattern, eqn, found, makers):
            continue
        x, d, out = found["x"], found["d"], eqn.outvars[0].aval
        size = int(np.asarray(d.val)) if isinstance(d, Literal) else 0
        if size > 0 and size & (size - 1) == 0 and x.aval.shape == out.shape:
            primitive, number = (shift_right_arithmetic_p, size.bit_length() - 1) if pattern is FLOOR \
                else (and_p, size - 1)
            literal = Literal(np.asarray(number, out.dtype)[()], ShapedArray((), out.dtype, out.weak_type))
            return eqn.replace(primitive=primitive, invars=[x, literal], params={})
    return None


def matches(pattern: tuple[Any, ...], eqn: JaxprEqn, found: Found, makers: Makers) -> bool:
    """Is an equation what a pattern says? `found` are the atoms that its words stand for."""
    return eqn.primitive is pattern[0] and all(
        _stands_for(part, atom, found, makers) for part, atom in zip(pattern[1:], eqn.invars, strict=True))


def _stands_for(part: Any, atom: Atom, found: Found, makers: Makers) -> bool:
    if isinstance(part, str):
        return _same(found.setdefault(part, atom), atom)
    if not isinstance(part, tuple):
        return isinstance(atom, Literal) and bool(np.asarray(atom.val) == part)
    eqn = makers.get(atom) if isinstance(atom, Var) else None
    while eqn is not None and eqn.primitive is convert_element_type_p \
            and eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype:  # it makes a type strong, or weak
        atom = eqn.invars[0]
        eqn = makers.get(atom) if isinstance(atom, Var) else None
    return eqn is not None and matches(part, eqn, found, makers)


def _same(a: Atom, b: Atom) -> bool:
    both = isinstance(a, Literal) and isinstance(b, Literal)
    return a is b or (both and bool(np.asarray(a.val) == np.asarray(b.val)))  # type: ignore[union-attr]
