"""Algebra that is exact to the bit: steps that change nothing, and steps that undo the step before them.

x * 1, x / 1, x - 0, max(x, -inf), stop_gradient(x) and conversions to the same type are x; two transposes, reshapes or
negations are one or none; a choice that is made already, or between equals, is what it chooses. Not here: x + 0 (it
turns -0 into 0), x * 0 (NaN), anything that moves a rounding.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.core.dtypes import DType, is_complex, is_float, is_integer
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal, Var
from tinytrace.core.monoids import identity
from tinytrace.core.primitive import Primitive
from tinytrace.core.storage_types import integer_limits
from tinytrace.passes.substitution import Substitution
from tinytrace.primitives.arithmetic import div_p, max_p, min_p, mul_p, sub_p
from tinytrace.primitives.bitwise import not_p
from tinytrace.primitives.broadcasting import broadcast_in_dim_p
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.primitives.elementwise import neg_p
from tinytrace.primitives.select import select_n_p
from tinytrace.primitives.shaping import reshape_p, rev_p, transpose_p
from tinytrace.primitives.stop_gradient import stop_gradient_p

Makers = dict[Var, JaxprEqn]
"""For each variable the equation that computes it."""


def algebra(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` without steps that change nothing."""
    replaced = Substitution()
    makers: Makers = {}
    eqns: list[JaxprEqn] = []
    for eqn in closed.jaxpr.eqns:
        eqn = replaced.in_equation(eqn)
        rule = _RULES.get(eqn.primitive)
        result = rule(eqn, makers) if rule is not None else None
        if isinstance(result, JaxprEqn):
            eqn, result = result, None
        if result is not None and result.aval == eqn.outvars[0].aval:
            replaced.update([(eqn.outvars[0], result)])
            continue
        for v in eqn.outvars:
            makers[v] = eqn
        eqns.append(eqn)
    outvars = [replaced[x] for x in closed.jaxpr.outvars]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=outvars), closed.consts)


# --- rules: the atom that an equation is the same as, a simpler equation, or None --------------------------------

def _times_one(eqn: JaxprEqn, makers: Makers) -> Atom | None:
    x, y = (_number(atom, makers) for atom in eqn.invars)
    return eqn.invars[0] if _is(y, 1) else eqn.invars[1] if _is(x, 1) else None


def _by_one(eqn: JaxprEqn, makers: Makers) -> Atom | None:
    return eqn.invars[0] if _is(eqn.invars[1], 1) else None


def _minus_zero(eqn: JaxprEqn, makers: Makers) -> Atom | None:
    """x - 0 is x, for every x; x - -0 is not, for -0."""
    y = eqn.invars[1]
    return eqn.invars[0] if _is(y, 0) and not np.signbit(np.asarray(y.val, np.float64)) else None  # type: ignore[union-attr]


def _beside_extreme(eqn: JaxprEqn, makers: Makers) -> Atom | JaxprEqn | None:
    """The greater one of x and what nothing is below is x, for NaN too: softmax asks for it.

    A number stands second, where C knows that it is one: three operations of `max(-128, x)`, and not seven.
    """
    dtype = eqn.outvars[0].aval.dtype
    if is_complex(dtype):
        return None
    extreme = identity(eqn.primitive.name, dtype)
    x, y = (_number(atom, makers) for atom in eqn.invars)
    if isinstance(x, Literal) and not isinstance(y, Literal) and not _is(x, extreme):
        return eqn.replace(invars=eqn.invars[::-1])
    return eqn.invars[0] if _is(y, extreme) else eqn.invars[1] if _is(x, extreme) else None


def _twice(eqn: JaxprEqn, makers: Makers) -> Atom | None:
    """An operation that undoes itself."""
    before = _before(eqn, makers)
    return before.invars[0] if before is not None and before.params == eqn.params else None


def _itself(eqn: JaxprEqn, makers: Makers) -> Atom | None:
    """Derivatives have been taken: what they stop at is its operand."""
    return eqn.invars[0]


def _same_type(eqn: JaxprEqn, makers: Makers) -> Atom | JaxprEqn | None:
    x, out = eqn.invars[0], eqn.outvars[0]
    if x.aval == out.aval:
        return x
    x = _saturated(x, out.aval.dtype, makers)
    return None if x is eqn.invars[0] else eqn.replace(invars=[x])


def _saturated(x: Atom, dtype: DType, makers: Makers) -> Atom:
    """Return `x` before it was kept within bounds that no integer of `dtype` is beyond: a conversion saturates."""
    while is_float(x.aval.dtype) and is_integer(dtype) and isinstance(x, Var) and x in makers:
        maker, limits = makers[x], integer_limits(dtype)
        if maker.primitive not in (max_p, min_p):
            break
        a, b = (_number(y, makers) for y in maker.invars)
        bound, other = (a, maker.invars[1]) if isinstance(a, Literal) else (b, maker.invars[0])
        if not isinstance(bound, Literal) \
                or not (bound.val <= limits.min if maker.primitive is max_p else bound.val >= limits.max):
            break
        x = other
    return x


def _reshaped(eqn: JaxprEqn, makers: Makers) -> Atom | JaxprEqn | None:
    if eqn.params["dimensions"] is not None:
        return None
    if eqn.invars[0].aval == eqn.outvars[0].aval:
        return eqn.invars[0]
    before = _before(eqn, makers)
    if before is None or before.params["dimensions"] is not None:
        return None
    x = before.invars[0]
    return x if x.aval == eqn.outvars[0].aval else eqn.replace(invars=[x])


def _transposed(eqn: JaxprEqn, makers: Makers) -> Atom | JaxprEqn | None:
    order = tuple(eqn.params["permutation"])
    if order == tuple(range(len(order))):
        return eqn.invars[0]
    before = _before(eqn, makers)
    if before is None:
        return None
    first = before.params["permutation"]
    both = tuple(first[k] for k in order)
    if both == tuple(range(len(both))):
        return before.invars[0]
    return eqn.replace(invars=before.invars, params={"permutation": both})


def _chosen(eqn: JaxprEqn, makers: Makers) -> Atom | None:
    which, *cases = eqn.invars
    if all(case is cases[0] for case in cases):  # the guard of a branch's operand, where both sides are the operand
        return cases[0]
    which = _number(which, makers)
    if not isinstance(which, Literal) or np.ndim(which.val):
        return None
    return cases[max(0, min(int(which.val), len(cases) - 1))]  # a number out of range counts as the nearest case


def _number(atom: Atom, makers: Makers) -> Atom:
    """Return the number that an array is full of, or the array."""
    maker = makers.get(atom) if isinstance(atom, Var) else None
    return maker.invars[0] if maker is not None and maker.primitive is broadcast_in_dim_p else atom


def _is(atom: Atom, number: Any) -> bool:
    return isinstance(atom, Literal) and bool(np.asarray(atom.val) == number)


def _before(eqn: JaxprEqn, makers: Makers) -> JaxprEqn | None:
    """Return the equation of the same primitive whose result is this one's operand."""
    x = eqn.invars[0]
    before = makers.get(x) if isinstance(x, Var) else None
    return before if before is not None and before.primitive is eqn.primitive else None


_RULES: dict[Primitive, Callable[[JaxprEqn, Makers], Any]] = {
    mul_p: _times_one, div_p: _by_one, sub_p: _minus_zero, max_p: _beside_extreme, min_p: _beside_extreme,
    neg_p: _twice, not_p: _twice, rev_p: _twice, convert_element_type_p: _same_type, broadcast_in_dim_p: _same_type,
    reshape_p: _reshaped, transpose_p: _transposed, select_n_p: _chosen, stop_gradient_p: _itself,
}
