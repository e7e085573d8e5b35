"""Rounding to integers, and what is read off a float: its sign, its neighbours, whether it is finite.

These are constant between jumps: their tangents are zero.
"""
from __future__ import annotations

import enum
from typing import Any

import numpy as np

from tinytrace.core.dtypes import BOOL, short_name
from tinytrace.core.formulas import call, call_named
from tinytrace.core.primitive import NONE
from tinytrace.primitives.elementwise import CONSTANT, FLOAT, NUMBER, Elementwise, NDArray, function


class RoundingMethod(enum.IntEnum):
    """Where `round` sends a value that lies halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def floor(x: Any) -> Any:
    """Return the greatest integer not above `x`, as a float.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.floor.html.

    >>> floor(np.float32(-0.5))
    Array(-1., dtype=float32)
    """
    return floor_p.bind(x)


def ceil(x: Any) -> Any:
    """Return the least integer not below `x`, as a float.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.ceil.html.

    >>> ceil(np.float32(-0.5))
    Array(-0., dtype=float32)
    """
    return ceil_p.bind(x)


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """Return the nearest integer as a float; `rounding_method` says where halves go.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.round.html.

    >>> round(np.float32([0.5, 2.5])), round(np.float32([0.5, 2.5]), RoundingMethod.TO_NEAREST_EVEN)
    (Array([1., 3.], dtype=float32), Array([0., 2.], dtype=float32))
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def nextafter(x1: Any, x2: Any) -> Any:
    """Return the float next to `x1` in the direction of `x2`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.nextafter.html.

    >>> nextafter(np.float32(1), np.float32(2))
    Array(1.0000001, dtype=float32)
    """
    return nextafter_p.bind(x1, x2)


def is_finite(x: Any) -> Any:
    """Is `x` neither infinite nor NaN?

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.is_finite.html.

    >>> is_finite(np.float32([1, np.inf]))
    Array([ True, False], dtype=bool)
    """
    return is_finite_p.bind(x)


def sign(x: Any) -> Any:
    """Return -1, 0 or 1 in the dtype of `x`; a float zero keeps its sign, NaN stays NaN.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.sign.html.

    >>> sign(np.int32([-5, 0, 5]))
    Array([-1,  0,  1], dtype=int32)
    """
    return sign_p.bind(x)


# --- rooms -----------------------------------------------------------------------------------------------------

def _sign(x: NDArray) -> Any:
    return np.where(x == 0, x, np.sign(x))  # sign(-0.0) is -0.0


def _round(x: NDArray, *, rounding_method: RoundingMethod) -> Any:
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(x)
    whole = np.trunc(x)  # x - whole is exact
    return np.copysign(whole + (np.abs(x - whole) >= 0.5).astype(x.dtype) * np.sign(x), x)


sign_p = Elementwise("sign", NUMBER, _sign, {"f": function("sign"), "i": lambda x: (x > 0) - (x < 0),
                                                "u": lambda x: x.differs(0)},
                     CONSTANT, ulp=0, laws="odd idempotent monotone")
floor_p = Elementwise("floor", FLOAT, np.floor, function("floor"), CONSTANT, ulp=0, laws="idempotent monotone")
ceil_p = Elementwise("ceil", FLOAT, np.ceil, function("ceil"), CONSTANT, ulp=0, laws="idempotent monotone")
round_p = Elementwise("round", FLOAT, _round, lambda x, rounding_method:
                      call("rint" if rounding_method == RoundingMethod.TO_NEAREST_EVEN else "round", x),
                      CONSTANT, ulp=0, laws="odd idempotent monotone")
def _next_after(x: Any, y: Any) -> Any:
    """C's function: of equal operands the second one. NumPy returns the first for halves: another zero."""
    return np.where(x == y, y, np.nextafter(x, y))


class NextAfter(Elementwise):
    """`nextafter x y` steps by the last bit of the very type of its operands."""

    reads = NONE


nextafter_p = NextAfter("nextafter", [FLOAT, FLOAT], _next_after,
                        lambda x, y: call_named(f"tt_nextafter_{short_name(x.dtype)}", x, y), ulp=0)
is_finite_p = Elementwise("is_finite", FLOAT, np.isfinite, function("is_finite"), CONSTANT, result=BOOL)
