"""Tangents as values, for rules that need more of them than their family knows."""
from __future__ import annotations

from typing import Any

from tinytrace.core.primitive import Primitive
from tinytrace.core.tangents import Zero
from tinytrace.primitives.elementwise import filled_like
from tinytrace.records import NamedTuple


def instantiate(tangent: Any) -> Any:
    """Return `tangent` as an array: zeros of its type where it is symbolically zero."""
    return filled_like(tangent.aval, 0) if type(tangent) is Zero else tangent


class Dual(NamedTuple):
    """A value and its tangent, for rules that differentiate a small program of several operations."""

    primal: Any
    tangent: Any

    @staticmethod
    def apply(primitive: Primitive, *args: Any, **params: Any) -> Dual:
        """Apply the jvp rule of `primitive`; arguments that are not Duals are constants."""
        duals = [x if isinstance(x, Dual) else Dual(x, Zero.from_primal_value(x)) for x in args]
        return Dual(*primitive.jvp([x.primal for x in duals], [x.tangent for x in duals], **params))
