"""Sums, products, quotients, remainders and signs."""
from __future__ import annotations

from typing import Any

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.array import Array
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import dtype_of, is_complex, is_float, is_integer
from tinytrace.core.storage_types import computed_type
from tinytrace.numpy.bits import logical_and
from tinytrace.numpy.elementwise import Operation, alias, binary, inexact_binary, named, strong_like, unary
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    as_array,
    check_arraylike,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
)


def _with_bool(name: str, op: Operation, bool_op: Operation, doc: str) -> Operation:
    """A function of two numbers that is `bool_op` on truth values."""

    def function(x: Any, y: Any, /) -> Value:
        if type(x) is Array and type(y) is Array and x.aval is y.aval and x.aval.dtype.kind in "fiu":
            return op(x, y)
        x, y = promote_args(name, x, y)
        return (bool_op if aval_of(x).dtype.kind == "b" else op)(x, y)

    return named(function, name, doc)


add = _with_bool("add", lax.add, lax.bitwise_or, """Return `x + y`; on truth values `x | y`.

    >>> jnp.add(jnp.array([1, 2]), 10)
    Array([11, 12], dtype=int32)
    """)

multiply = _with_bool("multiply", lax.mul, lax.bitwise_and, """Return `x * y`; on truth values `x & y`.

    >>> jnp.multiply(jnp.array([1, 2]), 10)
    Array([10, 20], dtype=int32)
    """)

subtract = binary("subtract", lax.sub, """Return `x - y`.

    >>> jnp.subtract(jnp.array([1, 2]), 10)
    Array([-9, -8], dtype=int32)
    """)

negative = unary("negative", lax.neg, """Return `-x`.

    >>> jnp.negative(jnp.array([1, -2]))
    Array([-1,  2], dtype=int32)
    """)

positive = unary("positive", as_array, """Return `+x`: `x` itself.

    >>> jnp.positive(jnp.array([1, -2]))
    Array([ 1, -2], dtype=int32)
    """)

sign = unary("sign", lax.sign, """Return -1, 0 or 1 by the sign of each element; nan for nan.

    >>> jnp.sign(jnp.array([3, 0, -2]))
    Array([ 1,  0, -1], dtype=int32)
    """)

true_divide = inexact_binary("true_divide", lax.div, """Return `x1 / x2` as floats.

    >>> jnp.true_divide(jnp.array([1, 2]), 2)
    Array([0.5, 1. ], dtype=float32)
    """)

divide = alias("divide", true_divide)


@remembered(elementwise=True)
def absolute(x: ArrayLike, /) -> Value:
    """Return the magnitude of each element.

    >>> jnp.absolute(jnp.array([3, -2]))
    Array([3, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.absolute.html.
    """
    check_arraylike("absolute", x)
    return as_array(x) if computed_type(aval_of(x).dtype).kind in "bu" else lax.abs(x)


abs = alias("abs", absolute)


@remembered(elementwise=True)
def fabs(x: ArrayLike, /) -> Value:
    """Return the magnitude of each element as a float.

    >>> jnp.fabs(jnp.array([3, -2]))
    Array([3., 2.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fabs.html.
    """
    if is_complex(dtype_of(x)):
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return lax.abs(*promote_args_inexact("fabs", x))


@library_jit(elementwise=True)
def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return `x1 / x2` rounded down.

    >>> jnp.floor_divide(jnp.array([7, -7]), 2)
    Array([ 3, -4], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.floor_divide.html.
    """
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    kind = "f" if is_float(aval_of(x1).dtype) else computed_type(aval_of(x1).dtype).kind
    if kind == "u":
        return lax.div(x1, x2)
    if kind == "c":
        raise TypeError("floor_divide does not support complex-valued inputs")
    if kind != "i":
        return _float_divmod(x1, x2)[0]
    quotient = lax.div(x1, x2)
    rounded_up = logical_and(lax.sign(x1) != lax.sign(x2), lax.rem(x1, x2) != 0)
    return choose_where(rounded_up, quotient - 1, quotient)


@library_jit(elementwise=True)
def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return the rest of `floor_divide`, which has the sign of `x2`: Python's `%`.

    >>> jnp.remainder(jnp.array([7, -7]), 3)
    Array([1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.remainder.html.
    """
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    zero = strong_like(x1, 0)
    if is_integer(aval_of(x2).dtype):
        x2 = _one_where_zero(x2)
    rest = lax.rem(x1, x2)
    not_zero = lax.ne(rest, zero)
    other_sign = lax.ne(lax.lt(rest, zero), lax.lt(x2, zero))
    return lax.select(lax.bitwise_and(other_sign, not_zero), lax.add(rest, x2), rest)


mod = alias("mod", remainder)


@library_jit(elementwise=True)
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Value, Value]:
    """Return `(x1 // x2, x1 % x2)`.

    >>> jnp.divmod(7, 3)
    (Array(2, dtype=int32, weak_type=True), Array(1, dtype=int32, weak_type=True))

    See https://numpy.org/doc/stable/reference/generated/numpy.divmod.html.
    """
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if is_integer(aval_of(x1).dtype):
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2)


@library_jit(elementwise=True)
def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return the rest of the division rounded towards zero, which has the sign of `x1`: C's `fmod`.

    >>> jnp.fmod(jnp.array([7, -7]), 3)
    Array([ 1, -1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fmod.html.
    """
    check_arraylike("fmod", x1, x2)
    if is_integer(aval_of(x1).dtype) and is_integer(aval_of(x2).dtype):
        x2 = _one_where_zero(x2)
    return lax.rem(*promote_args_numeric("fmod", x1, x2))


def _one_where_zero(x: Value) -> Value:
    return choose_where(x == 0, lax.full_like(x, 1), x)


def _float_divmod(x1: Value, x2: Value) -> tuple[Value, Value]:
    rest = lax.rem(x1, x2)
    quotient = lax.div(lax.sub(x1, rest), x2)
    other_sign = lax.bitwise_and(rest != 0, lax.sign(x2) != lax.sign(rest))
    rest = lax.select(other_sign, rest + x2, rest)
    quotient = lax.select(other_sign, quotient - strong_like(quotient, 1), quotient)
    return lax.round(quotient), rest

