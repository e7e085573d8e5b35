"""Bits of bytes at places that are known beforehand are asked for where they stand, and not shifted down before.

    c:u8[n,8] = shift_right_logical a b          c:u8[1,8] = shift_left 1 b
    d:u8[n,8] = and c 1                          d:u8[n,8] = and a c;  e:bool[n,8] = ne d 0;  f:u8[n,8] = convert e

The masks are computed once, and no CPU has vectors that shift bytes. The rule: the places are few and differ along the
last axis; of an arithmetic shift they are made of numbers and `iota` alone, and none is above 7. Bytes take 0.3 of the
time so; wider integers are shifted as quickly.
"""
from __future__ import annotations

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BOOL, is_integer
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal, Var
from tinytrace.primitives.bitwise import (
    and_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
)
from tinytrace.primitives.comparison import ne_p
from tinytrace.primitives.conversion import convert_element_type_p

MOST_PLACES = 64
"""The most bits that elements have."""
SHIFTS = (shift_right_logical_p, shift_right_arithmetic_p)


def ask_bits_by_masks(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with bits at known places asked for by masks."""
    if not any(_shifts_bytes(eqn) for eqn in closed.jaxpr.eqns):
        return closed
    known: dict[Var, np.ndarray] = {}
    shifts: dict[Atom, JaxprEqn] = {}
    eqns: list[JaxprEqn] = []
    for eqn in closed.jaxpr.eqns:
        _note(eqn, known)
        if _shifts_bytes(eqn) and _are_few(eqn.invars[1], eqn.outvars[0].aval) and _lie_within(eqn, known):
            shifts[eqn.outvars[0]] = eqn
        shift = shifts.get(eqn.invars[0]) if eqn.primitive is and_p else None
        eqns += [eqn] if shift is None or not _is_one(eqn.invars[1]) else _by_mask(eqn, shift)
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _shifts_bytes(eqn: JaxprEqn) -> bool:
    return eqn.primitive in SHIFTS and eqn.outvars[0].aval.dtype.itemsize == 1


def _are_few(places: Atom, out: ShapedArray) -> bool:
    """Do places differ along the last axis, and are they the same for many elements?"""
    shape = places.aval.shape
    return bool(shape) and shape[-1] > 1 and places.aval.size <= MOST_PLACES and places.aval.size < out.size


def _lie_within(eqn: JaxprEqn, known: dict[Var, np.ndarray]) -> bool:
    """Is a shift to places that lie outside of the type the same as no bit? An arithmetic one may give the sign."""
    places = known.get(eqn.invars[1]) if isinstance(eqn.invars[1], Var) else None
    is_known = places is not None and 0 <= places.min() <= places.max() < 8
    return eqn.primitive is shift_right_logical_p or is_known


def _note(eqn: JaxprEqn, known: dict[Var, np.ndarray]) -> None:
    """Compute what an equation makes of numbers alone, if that is a few integers."""
    if len(eqn.outvars) != 1 or eqn.primitive.multiple_results or eqn.effects:
        return
    aval = eqn.outvars[0].aval
    if not is_integer(aval.dtype) or aval.size > MOST_PLACES or not aval.size \
            or not all(isinstance(x, Literal) or x in known for x in eqn.invars):
        return
    operands = [np.asarray(x.val, x.aval.dtype) if isinstance(x, Literal) else known[x] for x in eqn.invars]
    with np.errstate(all="ignore"):
        known[eqn.outvars[0]] = np.asarray(eqn.primitive.impl(*operands, **eqn.params), aval.dtype)


def _is_one(atom: Atom) -> bool:
    return isinstance(atom, Literal) and bool(np.asarray(atom.val) == 1)


def _by_mask(eqn: JaxprEqn, shift: JaxprEqn) -> list[JaxprEqn]:
    x, places = shift.invars
    out, few = eqn.outvars[0].aval, places.aval
    one, zero = (Literal(np.asarray(n, out.dtype)[()], ShapedArray((), out.dtype)) for n in (1, 0))
    masks, bits, asked = (Var(aval) for aval in (ShapedArray(few.shape, out.dtype), ShapedArray(out.shape, out.dtype),
                                                 ShapedArray(out.shape, BOOL)))
    return [eqn.replace(primitive=shift_left_p, invars=[one, places], outvars=[masks], params={}),
            eqn.replace(primitive=and_p, invars=[x, masks], outvars=[bits], params={}),
            eqn.replace(primitive=ne_p, invars=[bits, zero], outvars=[asked], params={}),
            eqn.replace(primitive=convert_element_type_p, invars=[asked],
                        params={"new_dtype": out.dtype, "weak_type": out.weak_type})]
