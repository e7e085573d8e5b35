"""Which matrix products are loops; the others are calls, of the BLAS or, of bytes, of csrc/math (`whole/matmul.py`)."""
from __future__ import annotations

import math

from tinytrace.core.dtypes import is_float
from tinytrace.core.jaxpr import JaxprEqn
from tinytrace.core.kinds import (
    SMALL_PRODUCT,
    Contraction,
    is_product_of_bfloat16,
    is_product_of_bytes,
    is_product_with_vector,
)

SMALL_IN_BATCH = 1024
"""Of a batch, products of at most this many multiplications each are loops of our own: a call costs as much."""


def is_small_product(kind: Contraction, eqn: JaxprEqn) -> bool:
    """Is this a matrix product that loops of our own do as well as a BLAS, or better?"""
    lhs, rhs = (x.aval for x in eqn.invars)
    out = eqn.outvars[0].aval
    count = out.size * math.prod(lhs.shape[a] for a in kind.lhs_contract)
    if is_product_of_bytes(kind, lhs, rhs, out) or is_product_of_bfloat16(kind, lhs, rhs, out):
        return False
    if out.dtype.name not in ("float32", "float64") or not (is_float(lhs.dtype) and is_float(rhs.dtype)):
        return True
    batch = math.prod(lhs.shape[a] for a in kind.lhs_batch)
    return count <= max(SMALL_PRODUCT, batch * SMALL_IN_BATCH) or is_product_with_vector(kind, lhs, rhs)
