"""Zeros that became real, and sums of tangents either of which may be the symbol `Zero`."""
from __future__ import annotations

from typing import Any

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.tangents import Zero, float0_zeros
from tinytrace.primitives.broadcasting import broadcast_in_dim
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.elementwise import add_any


def instantiate_zeros(tangent: Any) -> Any:
    """Return `tangent` as an array or scalar: a `Zero` becomes real zeros."""
    return zeros(tangent.aval) if type(tangent) is Zero else tangent


def zeros(aval: ShapedArray) -> Any:
    """Return the zeros of type `aval`."""
    return float0_zeros(aval.shape) if aval.dtype == FLOAT0 else filled(aval, 0)


def filled(aval: ShapedArray, value: int) -> Any:
    """Return an array of type `aval` that is `value` everywhere: a literal where it is staged as a scalar."""
    scalar = convert_element_type(value, aval.dtype, aval.weak_type)
    return broadcast_in_dim(scalar, aval.shape, ()) if aval.shape else scalar


def add_tangents(x: Any, y: Any) -> Any:
    """Return the sum of two tangents or cotangents, either of which may be `Zero`."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_any(x, y)
