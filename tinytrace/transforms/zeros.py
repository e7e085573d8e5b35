"""Tangents as values: zeros made real, sums in which either side may be the symbol `Zero`, results of rules."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.tangents import Zero, float0_zeros
from tinytrace.core.trace import is_eager
from tinytrace.primitives.broadcasting import broadcast_in_dim
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.elementwise import add_any


def instantiate_zeros(tangent: Any) -> Any:
    """Return `tangent` as an array or scalar: a `Zero` becomes real zeros."""
    return zeros(tangent.aval) if type(tangent) is Zero else tangent


def zeros(aval: ShapedArray) -> Any:
    """Return the zeros of type `aval`; those of dtype float0 have no bytes, and are NumPy's where they are values."""
    if aval.dtype != FLOAT0:
        return filled(aval, 0)
    return float0_zeros(aval.shape) if is_eager() or not aval.shape else broadcast_in_dim(
        float0_zeros(()), aval.shape, ())


def filled(aval: ShapedArray, value: int) -> Any:
    """Return an array of type `aval` that is `value` everywhere: a literal where it is staged as a scalar."""
    scalar = convert_element_type(value, aval.dtype, aval.weak_type)
    return broadcast_in_dim(scalar, aval.shape, ()) if aval.shape else scalar


def add_tangents(x: Any, y: Any) -> Any:
    """Return the sum of two tangents or cotangents, either of which may be `Zero`."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_any(x, y)


def as_result(x: Any) -> Any:
    """Return what a rule answered as a result: a number of the user's that it handed on unchanged is an Array now."""
    if is_eager() and isinstance(x, (bool, int, float, np.generic, np.ndarray)):
        aval = aval_of(x)
        return x if aval.dtype == FLOAT0 else convert_element_type(x, aval.dtype, aval.weak_type)
    return x
