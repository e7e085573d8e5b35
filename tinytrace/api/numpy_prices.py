"""What operations cost NumPy: estimates from one measurement, the same in every run, as what is compiled must be."""
from __future__ import annotations

import math

import numpy as np

from tinytrace.api.exactness import MOVES, kind_or_none
from tinytrace.core.dtypes import BFLOAT16, FLOAT16, DType, is_complex, is_integer
from tinytrace.core.jaxpr import Jaxpr, JaxprEqn
from tinytrace.core.kinds import Contraction, Gather, Scatter
from tinytrace.core.primitive import Primitive
from tinytrace.primitives.arithmetic import abs_p, add_p, div_p, mul_p, rem_p, sub_p
from tinytrace.primitives.broadcasting import broadcast_in_dim_p, squeeze_p
from tinytrace.primitives.complex_numbers import imag_p, real_p
from tinytrace.primitives.elementwise import neg_p
from tinytrace.primitives.shaping import reshape_p, rev_p, transpose_p
from tinytrace.primitives.slicing import slice_p

VIEWS: frozenset[Primitive] = frozenset({broadcast_in_dim_p, imag_p, real_p, reshape_p, rev_p, slice_p, squeeze_p,
                                         transpose_p})
"""What NumPy answers without a copy, at most times."""
BY_BITS: frozenset[Primitive] = frozenset({abs_p, neg_p})
"""What NumPy does to halves without converting them."""
BY_PARTS: frozenset[Primitive] = frozenset({add_p, mul_p, sub_p})
"""What NumPy does to complex numbers in vectors."""
QUICK = 0.3
"""Nanoseconds for an element of a loop that has vectors: as long as memory takes."""
HALVES: dict[DType, float] = {FLOAT16: 5.0, BFLOAT16: 2.0}
"""The same for loops that convert each element to a wider type and back, without vectors."""
COMPLEX = 2.0
"""The same for loops of complex numbers without vectors."""


def is_view(eqn: JaxprEqn) -> bool:
    """Does NumPy answer an operation without a copy, at most times?"""
    return eqn.primitive in VIEWS and bool(eqn.invars[0].aval.shape)


def microseconds(eqn: JaxprEqn, elements: int | None) -> float:
    """Estimate NumPy's time for an operation.  elements: of the arrays, where the equation stands for all shapes."""
    if elements is None:
        elements = max(v.aval.size for v in (*eqn.invars, *eqn.outvars))
    kind = kind_or_none(eqn)
    if is_view(eqn):
        return 1 + (elements * 3e-3 if eqn.primitive is reshape_p else 0)  # which may have to copy
    if eqn.primitive in MOVES:
        return 5 + elements * math.log2(max(2, _length_of_sort(eqn, elements))) * 4e-3
    if isinstance(kind, (Gather, Scatter)):
        return 60 + elements * 6e-3
    if isinstance(kind, Contraction):
        return 6 + _products(eqn) * 0.8e-3
    if eqn.primitive is rem_p or (eqn.primitive is div_p and is_integer(eqn.outvars[0].aval.dtype)):
        return 6 + elements * 15e-3  # ten times what others take
    if isinstance(eqn.primitive.in_numpy(eqn.params), np.ufunc):
        return 1 + elements * _nanoseconds(eqn) * 1e-3
    return 6 + elements * max(3, _nanoseconds(eqn)) * 1e-3


def loops_are_quick(jaxpr: Jaxpr) -> bool:
    """Does each operation of a program take NumPy's loop no longer than memory takes?"""
    return all(_nanoseconds(eqn) == QUICK for eqn in jaxpr.eqns)


def _nanoseconds(eqn: JaxprEqn) -> float:
    """Return what an element takes the loop of an elementwise operation."""
    return max((_of_dtype(eqn.primitive, v.aval.dtype) for v in (*eqn.invars, *eqn.outvars)), default=QUICK)


def _of_dtype(primitive: Primitive, dtype: DType) -> float:
    if is_complex(dtype):
        return QUICK if primitive in BY_PARTS else COMPLEX
    return QUICK if primitive in BY_BITS else HALVES.get(dtype, QUICK)


def _length_of_sort(eqn: JaxprEqn, elements: int) -> int:
    """Return how many elements are ordered among each other."""
    aval = eqn.invars[0].aval
    return aval.shape[eqn.params.get("dimension", -1)] if aval.shape else elements


def _products(eqn: JaxprEqn) -> int:
    """Return how many multiplications a product of matrices takes."""
    (summed, _), _ = eqn.params["dimension_numbers"]
    terms: int = math.prod(eqn.invars[0].aval.shape[axis] for axis in summed)
    return eqn.outvars[0].aval.size * terms
