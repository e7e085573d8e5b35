"""A product that is only read transposed is the product of its operands in the other order: (A B)^T = B^T A^T.

Gradients of matrix products are full of such transposes; without this each would be a copy of a whole matrix.
"""
from __future__ import annotations

from collections import Counter

from tinytrace.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Var
from tinytrace.primitives.contraction import dot_general_p
from tinytrace.primitives.shaping import transpose_p


def product_layout(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return `closed` with every product that one transpose alone reads computed in the order of the transpose."""
    jaxpr = closed.jaxpr
    if not any(eqn.primitive is dot_general_p for eqn in jaxpr.eqns):
        return closed
    uses: Counter[Atom] = Counter(x for eqn in jaxpr.eqns for x in eqn.invars if isinstance(x, Var))
    uses.update(x for x in jaxpr.outvars if isinstance(x, Var))
    products = {eqn.outvars[0]: eqn for eqn in jaxpr.eqns
                if eqn.primitive is dot_general_p and uses[eqn.outvars[0]] == 1}
    turned: dict[JaxprEqn, JaxprEqn] = {}
    for eqn in jaxpr.eqns:
        operand = eqn.invars[0] if eqn.primitive is transpose_p else None
        product = products.get(operand) if isinstance(operand, Var) else None
        if product is not None and _exchanges_sides(product, eqn):
            turned[product] = _other_order(product, eqn)
    gone = {eqn.outvars[0] for eqn in turned.values()}
    eqns = [turned.get(eqn, eqn) for eqn in jaxpr.eqns if not (eqn.primitive is transpose_p and eqn.outvars[0] in gone)]
    return ClosedJaxpr(jaxpr.replace(eqns=eqns), closed.consts)


def _exchanges_sides(product: JaxprEqn, transpose: JaxprEqn) -> bool:
    """Does a transpose put the free dimensions of the second operand before those of the first, and nothing else?"""
    (contract, _), (batch, _) = product.params["dimension_numbers"]
    lhs, out = product.invars[0].aval, product.outvars[0].aval
    shared, rows = len(batch), lhs.ndim - len(contract)
    order = (*range(shared), *range(rows, out.ndim), *range(shared, rows))
    return tuple(transpose.params["permutation"]) == order


def _other_order(product: JaxprEqn, transpose: JaxprEqn) -> JaxprEqn:
    (contract, rhs_contract), (batch, rhs_batch) = product.params["dimension_numbers"]
    numbers = ((tuple(rhs_contract), tuple(contract)), (tuple(rhs_batch), tuple(batch)))
    return product.replace(invars=product.invars[::-1], outvars=transpose.outvars,
                           params={**product.params, "dimension_numbers": numbers})
