"""Zeros that rules need as values: a symbolic zero tangent made real."""
from __future__ import annotations

from typing import Any

from tinytrace.core.tangents import Zero
from tinytrace.primitives.elementwise import filled_like


def instantiate(tangent: Any) -> Any:
    """Return `tangent` as an array: zeros of its type where it is symbolically zero."""
    return filled_like(tangent.aval, 0) if type(tangent) is Zero else tangent
