"""What arithmetic means in NumPy, where that has another answer for integers divided by zero and for zeros' signs."""
from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from tinytrace.core.dtypes import is_float, is_inexact
from tinytrace.primitives.elementwise import NDArray, in_float32


def div(x: NDArray, y: NDArray) -> Any:
    """Return quotients; of integers towards zero."""
    if is_inexact(x.dtype):
        return np.divide(x, y)
    quotient, _ = divide_integers(x, y)
    return quotient


def rem(x: NDArray, y: NDArray) -> Any:
    """Return remainders, with the sign of `x`."""
    if is_float(x.dtype):
        return np.fmod(x, y)
    _, remainder = divide_integers(x, y)
    return remainder


def divide_integers(x: NDArray, y: NDArray) -> tuple[Any, Any]:
    """Divide towards zero: magnitudes are unsigned, so that the smallest integer has one, then signs are put on."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    wraps = (y == -1) if x.dtype.kind == "i" else np.False_
    safe = np.where((y == zero) | wraps, one, y)  # x / -1 is -x, which wraps
    remainder = np.where(wraps, zero, np.fmod(x, safe))
    quotient = np.where(wraps, np.negative(x), (x - remainder) // safe)
    return np.where(y == zero, ~zero, quotient), np.where(y == zero, x, remainder)


def max(x: NDArray, y: NDArray) -> Any:
    """Return the greater ones; 0 is greater than -0."""
    if x.dtype.kind == "c":
        return np.where((x.real > y.real) | ((x.real == y.real) & (x.imag > y.imag)), x, y)
    result = np.maximum(x, y)
    return np.where((x == 0) & (y == 0), x + y, result) if is_float(x.dtype) else result


def min(x: NDArray, y: NDArray) -> Any:
    """Return the lesser ones; -0 is less than 0."""
    if x.dtype.kind == "c":
        return np.where((y.real > x.real) | ((y.real == x.real) & (y.imag > x.imag)), x, y)
    result = np.minimum(x, y)
    return np.where((x == 0) & (y == 0), -(-x - y), result) if is_float(x.dtype) else result


@in_float32
def integer_pow(x: NDArray, *, y: int) -> Any:
    """Return powers, multiplied in the order in which C does it."""
    if y == 0:
        return np.ones_like(x)
    result: Any = None
    power, exponent = x, builtins.abs(y)
    while exponent:
        if exponent & 1:
            result = power if result is None else result * power
        exponent >>= 1
        power = power * power
    return np.reciprocal(result) if y < 0 else result


@in_float32
def rsqrt(x: NDArray) -> Any:
    """Return `1 / sqrt(x)`."""
    return x.dtype.type(1) / np.sqrt(x)
