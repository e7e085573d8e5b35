"""`a * b + c` in one rounding, where the machine can: decided here, on the program, for all equations.

    d = mul a b                        e = fma a b c
    e = add d c

The rule: the sum (or difference) of a product and a value of the same shape is one operation, if the product has no
other use than such sums; of two products the left one. It looks at equations alone. So a result has one rounding
whatever becomes of them: in vectors and in the elements that are left over, in one loop or in two, for one element or a
million. Compilers may not fuse by themselves (-ffp-contract=off). In `exact` mode the pass does not run. What a fold
sums may be a product too, which no equation shows: `codegen/ir/reductions.py` decides that.

A product that is used several times is fused only if its operands are at hand anyway: else remembering one value would
become remembering two.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.core.dtypes import FLOAT32, FLOAT64
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from tinytrace.core.primitive import Primitive
from tinytrace.primitives.arithmetic import add_p, integer_pow_p, mul_p, sub_p
from tinytrace.primitives.elementwise import add_any_p
from tinytrace.primitives.multiply_add import fma_p, fms_p, fnma_p

_SUMS: dict[Primitive, tuple[Primitive, Primitive]] = {
    add_p: (fma_p, fma_p), add_any_p: (fma_p, fma_p), sub_p: (fms_p, fnma_p),
}
"""For each sum what it becomes when its left operand is a product, and when its right one is."""


def fuse_multiply_add(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return a program whose sums of products are rounded once, loop bodies and branches included."""
    return ClosedJaxpr(_fused(closed.jaxpr), closed.consts)


def _fused(jaxpr: Jaxpr) -> Jaxpr:
    products = _products(jaxpr)
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        eqn = _with_fused_bodies(eqn)
        side = _fused_side(eqn, products)
        if side is not None:
            product = products[eqn.invars[side]]
            operands = [*_factors(product), eqn.invars[1 - side]]
            ids = tuple(dict.fromkeys((*product.ids, *eqn.ids)))
            eqn = eqn.replace(primitive=_SUMS[eqn.primitive][side], invars=operands, params={}, ids=ids)
        eqns.append(eqn)
    if not products:
        return jaxpr.replace(eqns=eqns)
    used = {x for eqn in eqns for x in eqn.invars} | set(jaxpr.outvars)
    return jaxpr.replace(eqns=[eqn for eqn in eqns if not eqn.outvars or eqn.outvars[0] not in products
                               or eqn.outvars[0] in used])


def _products(jaxpr: Jaxpr) -> dict[Atom, JaxprEqn]:
    """Return the products that every user adds to something or subtracts, by their variables."""
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
        if v is None or not (factors := _factors(eqn)) or v in results:
            continue
        sums = users.get(v, [])
        if all(user.primitive in _SUMS and user.outvars[0].aval.shape == v.aval.shape for user in sums) and \
                (len(sums) == 1 or all(isinstance(x, Literal) or x in at_hand or len(users[x]) > factors.count(x)
                                       for x in factors)):
            found[v] = eqn
    return found


def _factors(eqn: JaxprEqn) -> Sequence[Atom]:
    """Return the two factors of an equation that is a product of floats; else nothing."""
    if not eqn.outvars or eqn.outvars[0].aval.dtype not in (FLOAT32, FLOAT64):
        return ()
    if eqn.primitive is mul_p:
        return eqn.invars
    return eqn.invars * 2 if eqn.primitive is integer_pow_p and eqn.params["y"] == 2 else ()


def _fused_side(eqn: JaxprEqn, products: dict[Atom, JaxprEqn]) -> int | None:
    """Return which operand of a sum is a product to be fused with it."""
    if eqn.primitive not in _SUMS:
        return None
    return next((k for k, x in enumerate(eqn.invars) if x in products), None)


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
