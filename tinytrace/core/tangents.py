"""Symbolic values of automatic differentiation: a tangent that is zero, and an input that is not known yet."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.array import array_from_numpy
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import FLOAT0


class Zero:
    """A tangent or cotangent that is zero everywhere and costs nothing; `aval` is its type."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        """Return the zero tangent of `value`."""
        return Zero(aval_of(value).to_tangent_aval())

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class UndefinedPrimal:
    """Stands for a linear input during transposition: its type is known, its value is not."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined_primal(x: Any) -> bool:
    """Is `x` the linear input of a transpose rule?"""
    return type(x) is UndefinedPrimal


def float0_zeros(shape: tuple[int, ...]) -> Any:
    """Return the only value of type float0[shape]."""
    return np.zeros(shape, FLOAT0)


__all__ = ["UndefinedPrimal", "Zero", "array_from_numpy", "float0_zeros", "is_undefined_primal"]
