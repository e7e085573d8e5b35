"""Symbolic values of automatic differentiation: a tangent that is zero, and an input that is not known yet."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import FLOAT0
from tinytrace.core.jaxpr import ClosedJaxpr, Literal


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


class SymbolicZero:
    """A `Zero` as the user's rule sees it when it asks for `symbolic_zeros=True`: it looks like its aval.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.custom_derivatives.SymbolicZero.html.
    """

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)

    def __repr__(self) -> str:
        return "SymbolicZero"


def to_symbolic_zero(tangent: Any) -> Any:
    """Return what a user's rule sees of `tangent`."""
    return SymbolicZero(tangent.aval) if type(tangent) is Zero else tangent


def from_symbolic_zero(tangent: Any) -> Any:
    """Return what the interpreters see of a tangent that came out of a user's rule."""
    return Zero(tangent.aval) if type(tangent) is SymbolicZero else tangent


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


def without_float0(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Replace outputs of dtype float0, of which there is only one value, by that value: nothing has to compute it."""
    outvars = [Literal(float0_zeros(v.aval.shape), v.aval) if v.aval.dtype == FLOAT0 else v
               for v in closed.jaxpr.outvars]
    return closed.replace(jaxpr=closed.jaxpr.replace(outvars=outvars)) if outvars != closed.jaxpr.outvars else closed
