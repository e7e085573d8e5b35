"""Positions of true elements are written where they belong, and are not counted first.

    k = cumsum mask                                k = cumsum mask
    s = scatter-add zeros k ones                   o = scatter (0, n, n, ...) k (1, 2, ..., n)
    w = cumsum s

`jnp.nonzero` asks how many of the running counts `k` are at most 0, 1, 2, ...: each count is found in the sum of the
elements before, and each element waits for the one before where both count at one place. Instead every element writes
where the next one lies to the place that its count names. The last of several wins, and next to it is the next true
element. No count is left out up to the greatest, so beyond that one the result is all n elements.

Quotients and rests of these positions, which are never negative, need no corrections. All of it is computed in 32
bits: a CPU divides more of these at once.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BOOL, INT32
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal, Var
from tinytrace.core.primitive import Primitive
from tinytrace.passes.floors import FLOOR, MODULO, matches
from tinytrace.passes.substitution import Substitution
from tinytrace.primitives.arithmetic import add_p, div_p, max_p, min_p, mul_p, rem_p, sub_p
from tinytrace.primitives.bitwise import and_p
from tinytrace.primitives.broadcasting import broadcast_in_dim_p
from tinytrace.primitives.comparison import lt_p, ne_p
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.primitives.creation import iota_p
from tinytrace.primitives.cumulative import cumsum_p
from tinytrace.primitives.gathering import scatter_add_p
from tinytrace.primitives.indexing import GatherScatterMode
from tinytrace.primitives.rounding import sign_p
from tinytrace.primitives.scattering import scatter_p
from tinytrace.primitives.select import select_n_p

Makers = dict[Var, JaxprEqn]
_ALONG = {"axis": 0, "reverse": False}
_WRAPPED = (select_n_p, (lt_p, "x", 0), "x", (add_p, "x", "n"))
_BY_ONE = (select_n_p, (and_p, (ne_p, (sign_p, "x"), 1), (ne_p, (rem_p, "x", 1), 0)), "x", (sub_p, "x", 1))


def write_counted_places(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with positions of true elements, found by counting twice, as ones that are written."""
    jaxpr = closed.jaxpr
    if not any(eqn.primitive is scatter_add_p for eqn in jaxpr.eqns):
        return closed
    replaced = Substitution()
    makers: Makers = {}
    narrow: dict[Var, Var] = {}
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        eqn = replaced.in_equation(eqn)
        new = _Equations(eqn)
        found = _written(eqn, makers, new) or _divided(eqn, makers, narrow, new)
        if found is None:
            new.eqns = [eqn]
        elif found.aval == eqn.outvars[0].aval:
            narrow[found] = found
            replaced.update([(eqn.outvars[0], found)])
        else:
            narrow[eqn.outvars[0]] = found
            new.end(found)
        makers.update((v, x) for x in new.eqns for v in x.outvars)
        eqns += new.eqns
    outvars = [replaced[x] for x in jaxpr.outvars]
    return ClosedJaxpr(jaxpr.replace(eqns=eqns, outvars=outvars), closed.consts) if narrow else closed


class _Equations:
    """The equations that stand for one."""

    def __init__(self, instead_of: JaxprEqn) -> None:
        self.instead_of = instead_of
        self.eqns: list[JaxprEqn] = []

    def add(self, primitive: Primitive, operands: Sequence[Atom], **params: Any) -> Var:
        """Add an equation and return its result."""
        out = Var(primitive.abstract_eval(*(x.aval for x in operands), **params))
        self.eqns.append(self.instead_of.replace(primitive=primitive, invars=list(operands), outvars=[out],
                                                 params=params))
        return out

    def end(self, found: Var) -> None:
        """Give `found` the type of the result that it stands for."""
        (out,) = self.instead_of.outvars
        params = {"new_dtype": out.aval.dtype, "weak_type": out.aval.weak_type}
        self.eqns.append(self.instead_of.replace(primitive=convert_element_type_p, invars=[found], outvars=[out],
                                                 params=params))


def _written(eqn: JaxprEqn, makers: Makers, new: _Equations) -> Var | None:
    """Return the positions that an equation counts, written; None if it is another one."""
    counted = makers.get(eqn.invars[0]) if eqn.primitive is cumsum_p and isinstance(eqn.invars[0], Var) else None
    if counted is None or eqn.params != _ALONG or counted.primitive is not scatter_add_p:
        return None
    zeros, places, ones = counted.invars
    mask = _counted_mask(places, makers)
    if mask is None or not (_is_full_of(0, zeros, makers) and _is_full_of(1, ones, makers)) \
            or counted.params["mode"] is not GatherScatterMode.FILL_OR_DROP or ones.aval.shape != mask.aval.shape \
            or zeros.aval.ndim != 1 or not _holds(eqn.outvars[0], mask.aval.size):
        return None
    n, count = mask.aval.size, zeros.aval.size
    ended = new.add(cumsum_p, [new.add(convert_element_type_p, [mask], new_dtype=INT32, weak_type=False)], **_ALONG)
    at = new.add(broadcast_in_dim_p, [ended], shape=(n, 1), broadcast_dimensions=(0,))
    none_left = new.add(mul_p, [new.add(min_p, [_count(count, new), _number(1)]), _number(n)])
    after = new.add(add_p, [_count(n, new), _number(1)])
    return new.add(scatter_p, [none_left, at, after], **{**counted.params, "update_jaxpr": None})


def _divided(eqn: JaxprEqn, makers: Makers, narrow: dict[Var, Var], new: _Equations) -> Var | None:
    """Return the quotient, or the rest, of such positions by a known number; None if an equation is another one."""
    if eqn.primitive is not select_n_p:
        return None
    found: dict[str, Atom] = {}
    if matches(_BY_ONE, eqn, found, makers):
        return narrow.get(found["x"]) if isinstance(found["x"], Var) else None
    for pattern, primitive in ((FLOOR, div_p), (MODULO, rem_p)):
        found = {}
        if matches(pattern, eqn, found, makers):
            x, d = found["x"], found["d"]
            divisor = int(np.asarray(d.val)) if isinstance(d, Literal) else 0
            if isinstance(x, Var) and x in narrow and 0 < divisor <= np.iinfo(INT32).max:
                return new.add(primitive, [narrow[x], _number(divisor)])
    return None


def _counted_mask(places: Atom, makers: Makers) -> Var | None:
    """Return the truth values of which places are the running counts; None if they are something else."""
    chain = [places]
    while isinstance(chain[-1], Var) and (maker := makers.get(chain[-1])) is not None:
        x = maker.invars[0]
        if maker.primitive is cumsum_p and maker.params == _ALONG:
            made = makers.get(x) if isinstance(x, Var) and x.aval.ndim == 1 else None
            mask = made.invars[0] if made is not None and made.primitive is convert_element_type_p else None
            return mask if isinstance(mask, Var) and mask.aval.dtype == BOOL \
                and all(_holds(atom, mask.aval.size) for atom in chain) else None
        found: dict[str, Atom] = {}
        if matches(_WRAPPED, maker, found, makers):
            x = found["x"]
        elif not (maker.primitive is convert_element_type_p
                  or (maker.primitive is max_p and _is_full_of(0, maker.invars[1], makers))
                  or (maker.primitive is broadcast_in_dim_p and chain[-1].aval.shape == (*x.aval.shape, 1))):
            break
        chain.append(x)
    return None


def _holds(x: Atom, size: int) -> bool:
    """Can integers of this type, and of 32 bits, say how many of `size` elements there are?"""
    return x.aval.dtype.kind in "iu" and 0 < size < min(np.iinfo(x.aval.dtype).max, np.iinfo(INT32).max)


def _is_full_of(value: int, x: Atom, makers: Makers) -> bool:
    while isinstance(x, Var) and x in makers and makers[x].primitive is broadcast_in_dim_p:
        x = makers[x].invars[0]
    return isinstance(x, Literal) and bool(np.all(np.asarray(x.val) == value))


def _count(n: int, new: _Equations) -> Var:
    return new.add(iota_p, [], dtype=INT32, shape=(n,), dimension=0, sharding=None)


def _number(value: int) -> Literal:
    return Literal(INT32.type(value), ShapedArray((), INT32))
