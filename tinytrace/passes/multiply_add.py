"""`a * b + c` in one rounding, where the machine can: decided here, on the program, for all equations.

    d = mul a b                        e = fma a b c
    e = add d c

The rule: the sum (or difference) of a product and a value of the same shape is one operation, if the product has no
other use than such sums. Of two products neither is fused: with one rounded and the other not, `x * y - y * x` would
be what the rounding took, and `a * b + c * d` another number than `c * d + a * b`. A product is one also where its sign
was changed, its elements were moved or it was chosen among others. A product by a literal power of two is exact and so
like any other value: of `x * y + 2 * z` the left one is fused.

The rule looks at equations alone, those of one body. So a result has one rounding whatever becomes of them: in vectors
and in the elements that are left over, in one loop or in two, for one element or a million. Compilers may not fuse by
themselves (-ffp-contract=off). In `exact` mode the pass does not run. What a fold sums may be a product too, which no
equation shows: `codegen/ir/reductions.py` decides that.

A product that is used several times is fused only if its operands are at hand anyway: else remembering one value would
become remembering two.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tinytrace.core.dtypes import FLOAT32, FLOAT64
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from tinytrace.core.primitive import Primitive
from tinytrace.primitives.arithmetic import abs_p, add_p, integer_pow_p, max_p, min_p, mul_p, sub_p
from tinytrace.primitives.broadcasting import broadcast_in_dim_p, squeeze_p
from tinytrace.primitives.concatenation import concatenate_p
from tinytrace.primitives.conversion import copy_p
from tinytrace.primitives.dynamic_slicing import dynamic_slice_p, dynamic_update_slice_p
from tinytrace.primitives.elementwise import add_any_p, neg_p
from tinytrace.primitives.gathering import gather_p
from tinytrace.primitives.multiply_add import fma_p, fms_p, fnma_p
from tinytrace.primitives.select import clamp_p, select_n_p
from tinytrace.primitives.shaping import reshape_p, rev_p, transpose_p
from tinytrace.primitives.slicing import pad_p, slice_p

_SUMS: dict[Primitive, tuple[Primitive, Primitive]] = {
    add_p: (fma_p, fma_p), add_any_p: (fma_p, fma_p), sub_p: (fms_p, fnma_p),
}
"""For each sum what it becomes when its left operand is a product, and when its right one is."""

_HANDED_ON = frozenset((
    neg_p, abs_p, copy_p, max_p, min_p, clamp_p, select_n_p, broadcast_in_dim_p, reshape_p, squeeze_p, transpose_p,
    rev_p, slice_p, pad_p, concatenate_p, gather_p, dynamic_slice_p, dynamic_update_slice_p,
))
"""What rounds nothing: each element of the result is one of an operand, or its negative."""

_MOVED = frozenset((
    neg_p, copy_p, broadcast_in_dim_p, reshape_p, squeeze_p, transpose_p, rev_p, slice_p, gather_p, dynamic_slice_p,
))
"""What leaves all elements of its first operand scaled, if they are."""

_EXACT, _ROUNDED = 1, 2
"""What a variable holds that is a product, or a product handed on."""


def fuse_multiply_add(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return a program whose sums of products are rounded once, loop bodies and branches included."""
    return ClosedJaxpr(_fused(closed.jaxpr), closed.consts)


def _fused(jaxpr: Jaxpr) -> Jaxpr:
    sides = _sides(jaxpr)
    products = _products(jaxpr, sides)
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        side = sides.get(eqn.outvars[0]) if eqn.outvars else None
        eqn = _with_fused_bodies(eqn)
        if side is not None and eqn.invars[side] in products:
            product = products[eqn.invars[side]]
            operands = [*_factors(product), eqn.invars[1 - side]]
            ids = tuple(dict.fromkeys((*product.ids, *eqn.ids)))
            eqn = eqn.replace(primitive=_SUMS[eqn.primitive][side], invars=operands, params={}, ids=ids)
        eqns.append(eqn)
    if not products:
        return jaxpr.replace(eqns=eqns)
    return jaxpr.replace(eqns=[eqn for eqn in eqns if not eqn.outvars or eqn.outvars[0] not in products])


def _sides(jaxpr: Jaxpr) -> dict[Atom, int]:
    """Return which operand of a sum may be fused with it, for those of which one may."""
    kinds: dict[Atom, int] = {}
    direct: set[Atom] = set()
    scaled: set[Atom] = set()
    sides: dict[Atom, int] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive in _SUMS:
            left, right = (kinds.get(x, 0) for x in eqn.invars)
            side = int(left < right)
            if left != right and eqn.invars[side] in direct:
                sides[eqn.outvars[0]] = side
        elif eqn.primitive in _HANDED_ON:
            if eqn.primitive in _MOVED and eqn.invars[0] in scaled:
                scaled.add(eqn.outvars[0])
            if kind := max(kinds.get(x, 0) for x in eqn.invars):
                kinds[eqn.outvars[0]] = kind
        elif kind := _kind(eqn, kinds):
            kinds[eqn.outvars[0]] = kind
            if any(map(_is_power_of_two, eqn.invars)):
                scaled.add(eqn.outvars[0])
                direct.add(eqn.outvars[0])
            elif scaled.isdisjoint(eqn.invars):
                direct.add(eqn.outvars[0])
    return sides


def _kind(eqn: JaxprEqn, kinds: dict[Atom, int]) -> int:
    """Return whether an equation is a product that is exact or rounded; 0 for others."""
    if eqn.primitive is integer_pow_p:
        return _ROUNDED if eqn.params["y"] > 1 else 0
    if eqn.primitive is not mul_p:
        return 0
    scaled = next((x for x, y in zip(eqn.invars, reversed(eqn.invars), strict=True) if _is_power_of_two(y)), None)
    return _ROUNDED if scaled is None else max(_EXACT, kinds.get(scaled, 0))


def _is_power_of_two(x: Atom) -> bool:
    return isinstance(x, Literal) and x.aval.dtype in (FLOAT32, FLOAT64) and abs(math.frexp(x.val)[0]) == 0.5


def _products(jaxpr: Jaxpr, sides: dict[Atom, int]) -> dict[Atom, JaxprEqn]:
    """Return the products that every user adds to something or subtracts in one rounding, by their variables."""
    users: dict[Atom, list[JaxprEqn]] = {}
    for eqn in jaxpr.eqns:
        for x in eqn.invars:
            if x in users:
                users[x].append(eqn)
            elif not isinstance(x, Literal):
                users[x] = [eqn]
    at_hand, results = {*jaxpr.invars, *jaxpr.constvars}, set(jaxpr.outvars)
    found: dict[Atom, JaxprEqn] = {}
    for eqn in jaxpr.eqns:
        v = eqn.outvars[0] if len(eqn.outvars) == 1 else None
        if v is None or v not in users or not (factors := _factors(eqn)) or v in results:
            continue
        if all(_takes(user, v, sides) for user in users[v]) and \
                (len(users[v]) == 1 or all(isinstance(x, Literal) or x in at_hand or len(users[x]) > factors.count(x)
                                           for x in factors)):
            found[v] = eqn
    return found


def _takes(user: JaxprEqn, product: Atom, sides: dict[Atom, int]) -> bool:
    """Is this a sum of the same shape that takes the product in?"""
    side = sides.get(user.outvars[0]) if user.outvars else None
    return side is not None and user.invars[side] is product and user.outvars[0].aval.shape == product.aval.shape


def _factors(eqn: JaxprEqn) -> Sequence[Atom]:
    """Return the two factors of an equation that is a product of floats; else nothing."""
    if not eqn.outvars or eqn.outvars[0].aval.dtype not in (FLOAT32, FLOAT64):
        return ()
    if eqn.primitive is mul_p:
        return eqn.invars
    return eqn.invars * 2 if eqn.primitive is integer_pow_p and eqn.params["y"] == 2 else ()


def _with_fused_bodies(eqn: JaxprEqn) -> JaxprEqn:
    if not eqn.params:
        return eqn
    params = {key: _fused_body(value) for key, value in eqn.params.items()}
    same = all(params[key] is value for key, value in eqn.params.items())
    return eqn if same else eqn.replace(params=params)


def _fused_body(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return fuse_multiply_add(value)
    if isinstance(value, tuple) and value and all(isinstance(x, ClosedJaxpr) for x in value):
        return tuple(map(fuse_multiply_add, value))
    return value
