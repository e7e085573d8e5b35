"""Which matrix products are loops of our own; the others are calls of the BLAS (`whole/matmul.py`)."""
from __future__ import annotations

import math

from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import JaxprEqn
from tinytrace.core.kinds import Contraction

SMALL_PRODUCT = 16 * 1024
"""Matrix products of at most this many multiplications are loops of our own; larger ones go to the BLAS."""


def is_small_product(kind: Contraction, eqn: JaxprEqn) -> bool:
    """Is this a matrix product that loops of our own do as well as a BLAS, or better?"""
    lhs, rhs = (x.aval for x in eqn.invars)
    out = eqn.outvars[0].aval
    count = out.size * math.prod(lhs.shape[a] for a in kind.lhs_contract)
    if out.dtype.name not in ("float32", "float64") or lhs.dtype != out.dtype or rhs.dtype != out.dtype:
        return True
    return count <= SMALL_PRODUCT or is_product_with_vector(kind, lhs, rhs)


def is_product_with_vector(kind: Contraction, lhs: ShapedArray, rhs: ShapedArray) -> bool:
    """Has one operand no dimension of its own (of size over 1)?"""
    def free(aval: ShapedArray, *others: tuple[int, ...]) -> int:
        taken = {a for axes in others for a in axes}
        return math.prod(size for a, size in enumerate(aval.shape) if a not in taken)

    return 1 in (free(lhs, kind.lhs_contract, kind.lhs_batch), free(rhs, kind.rhs_contract, kind.rhs_batch))
