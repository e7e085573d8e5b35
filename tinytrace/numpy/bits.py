"""Bitwise and logical functions."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import BOOL, is_unsigned
from tinytrace.numpy.elementwise import Operation, alias, binary, numeric_binary, unary
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_numeric
from tinytrace.primitives.elementwise import const_like

bitwise_and = binary("bitwise_and", lax.bitwise_and, """Combine the bits of two integer (or bool) arrays by AND.

    >>> jnp.bitwise_and(6, 3)
    Array(2, dtype=int32, weak_type=True)
    """)

bitwise_or = binary("bitwise_or", lax.bitwise_or, """Combine the bits of two integer (or bool) arrays by OR.

    >>> jnp.bitwise_or(6, 3)
    Array(7, dtype=int32, weak_type=True)
    """)

bitwise_xor = binary("bitwise_xor", lax.bitwise_xor, """Combine the bits of two integer or bool arrays by exclusive OR.

    >>> jnp.bitwise_xor(6, 3)
    Array(5, dtype=int32, weak_type=True)
    """)

bitwise_not = unary("bitwise_not", lax.bitwise_not, """Invert every bit of an integer array, or every truth value.

    >>> jnp.bitwise_not(6)
    Array(-7, dtype=int32, weak_type=True)
    """)

invert = unary("invert", lax.bitwise_not, """Invert every bit of an integer array, or every truth value.

    >>> jnp.invert(True)
    Array(False, dtype=bool)
    """)

bitwise_invert = alias("bitwise_invert", invert)

left_shift = numeric_binary("left_shift", lax.shift_left, """Shift the bits of `x` to the left by `y` places.

    >>> jnp.left_shift(3, 2)
    Array(12, dtype=int32, weak_type=True)
    """)

bitwise_left_shift = alias("bitwise_left_shift", left_shift)


@remembered(elementwise=True)
def right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Shift the bits of `x1` to the right by `x2` places; the sign of signed integers stays.

    >>> jnp.right_shift(-9, 1)
    Array(-5, dtype=int32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.right_shift.html.
    """
    x1, x2 = promote_args_numeric("right_shift", x1, x2)
    shift = lax.shift_right_logical if is_unsigned(aval_of(x1).dtype) else lax.shift_right_arithmetic
    return shift(x1, x2)


bitwise_right_shift = alias("bitwise_right_shift", right_shift)


@library_jit(elementwise=True)
def bitwise_count(x: ArrayLike, /) -> Value:
    """Count the bits that are set in the absolute value of each integer: u8 of the shape of `x`.

    >>> jnp.bitwise_count(7)
    Array(3, dtype=uint8)

    See https://numpy.org/doc/stable/reference/generated/numpy.bitwise_count.html.
    """
    x, = promote_args_numeric("bitwise_count", x)
    magnitude = x if is_unsigned(aval_of(x).dtype) else lax.abs(x)
    return lax.convert_element_type(lax.population_count(magnitude), np.uint8)


# --- truth values ----------------------------------------------------------------------------------------------

def _logical(op: Operation) -> Operation:
    return lambda *args: op(*map(_to_bool, args))


def _to_bool(x: Any) -> Value:
    return x if aval_of(x).dtype == BOOL else lax.ne(x, const_like(x, 0))


logical_and = binary("logical_and", _logical(lax.bitwise_and), """Say where both `x` and `y` are true (not zero).

    >>> jnp.logical_and(True, 2)
    Array(True, dtype=bool, weak_type=True)
    """)

logical_or = binary("logical_or", _logical(lax.bitwise_or), """Say where `x` or `y` is true (not zero).

    >>> jnp.logical_or(False, 2)
    Array(True, dtype=bool, weak_type=True)
    """)

logical_xor = binary("logical_xor", _logical(lax.bitwise_xor), """Say where exactly one of `x` and `y` is not zero.

    >>> jnp.logical_xor(True, 2)
    Array(False, dtype=bool, weak_type=True)
    """)

logical_not = unary("logical_not", _logical(lax.bitwise_not), """Say where `x` is false (zero).

    >>> jnp.logical_not(jnp.array([0, 2]))
    Array([ True, False], dtype=bool)
    """)
