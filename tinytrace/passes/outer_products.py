"""Matrix products that sum nothing are multiplications: `dot_general` of two vectors, an outer product.

    c: f32[n,m] = dot_general[dimension_numbers=(([], []), ([], []))] a b

    d: f32[n,m] = broadcast_in_dim a        rows of the result
    e: f32[n,m] = broadcast_in_dim b        its columns
    c: f32[n,m] = mul d e                   computed where it is read: nothing is written, to be added afterwards

Gradients of loops that multiply a matrix and a vector add one such product in each turn.
"""
from __future__ import annotations

from tinytrace.core.dtypes import BOOL
from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Var
from tinytrace.core.primitive import Primitive
from tinytrace.primitives.arithmetic import mul_p
from tinytrace.primitives.broadcasting import broadcast_in_dim_p
from tinytrace.primitives.contraction import dot_general_p
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.primitives.shaping import transpose_p


def multiply_outer_products(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with products that sum nothing as multiplications of two arrays of the result's shape."""
    if not any(map(_sums_nothing, closed.jaxpr.eqns)):
        return closed
    eqns = [new for eqn in closed.jaxpr.eqns for new in (_multiplied(eqn) if _sums_nothing(eqn) else [eqn])]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _sums_nothing(eqn: JaxprEqn) -> bool:
    if eqn.primitive is not dot_general_p or eqn.outvars[0].aval.dtype == BOOL:
        return False
    (summed, _), _ = eqn.params["dimension_numbers"]
    return not summed and bool(eqn.outvars[0].aval.shape)


def _multiplied(eqn: JaxprEqn) -> list[JaxprEqn]:
    """Return the multiplication that a product is, and what brings its operands there."""
    out = eqn.outvars[0].aval
    _, batches = eqn.params["dimension_numbers"]
    eqns: list[JaxprEqn] = []

    def step(primitive: Primitive, x: Atom, **params: object) -> Atom:
        result = Var(primitive.abstract_eval(x.aval, **params))
        eqns.append(eqn.replace(primitive=primitive, invars=[x], outvars=[result], params=params))
        return result

    operands: list[Atom] = []
    free = len(batches[0])
    for x, batch in zip(eqn.invars, batches, strict=True):
        if x.aval.dtype != out.dtype:
            x = step(convert_element_type_p, x, new_dtype=out.dtype, weak_type=False)
        others = [a for a in range(x.aval.ndim) if a not in batch]
        if (order := (*batch, *others)) != tuple(range(x.aval.ndim)):
            x = step(transpose_p, x, permutation=order)
        order = (*range(len(batch)), *range(free, free + len(others)))
        free += len(others)
        operands.append(step(broadcast_in_dim_p, x, shape=out.shape, broadcast_dimensions=order))
    return [*eqns, eqn.replace(primitive=mul_p, invars=operands, params={})]
