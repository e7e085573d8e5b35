"""Which matrix products are loops; the others are calls, of the host or, of bytes, of csrc/math (`whole/matmul.py`)."""
from __future__ import annotations

from tinytrace.core import kinds
from tinytrace.core.dtypes import is_float
from tinytrace.core.jaxpr import JaxprEqn
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
