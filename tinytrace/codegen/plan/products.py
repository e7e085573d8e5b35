"""Which matrix products are loops; the others are calls, of the host or, of bytes, of csrc/math (`whole/matmul.py`)."""
from __future__ import annotations

import math

from tinytrace.core import kinds
from tinytrace.core.dtypes import is_float
from tinytrace.core.jaxpr import JaxprEqn, Var
from tinytrace.core.kinds import Contraction, is_product_of_bytes, is_product_of_halves


def is_small_product(kind: Contraction, eqn: JaxprEqn) -> bool:
    """Is this a matrix product that loops of our own do as well as a call, or better, or that has no call?"""
    lhs, rhs = (x.aval for x in eqn.invars)
    out = eqn.outvars[0].aval
    if is_product_of_bytes(kind, lhs, rhs, out) or is_product_of_halves(kind, lhs, rhs, out):
        return False
    if out.dtype.name not in ("float32", "float64") or not (is_float(lhs.dtype) and is_float(rhs.dtype)):
        return True
    return kinds.is_small_product(kind, lhs, rhs, out)


def product_domain(eqn: JaxprEqn, kind: Contraction) -> tuple[int, ...]:
    """Return the loop extents of a product that is a loop: the dimensions of the result, then those that are summed."""
    lhs = eqn.invars[0].aval
    return (*eqn.outvars[0].aval.shape, *(lhs.shape[a] for a in kind.lhs_contract))


def needs_once(eqn: JaxprEqn, kind: Contraction, x: Var) -> bool:
    """Does a product need each element of `x` once, as one with a vector needs those of the matrix, and in a loop?"""
    return x.aval.size == math.prod(product_domain(eqn, kind)) and is_small_product(kind, eqn)
