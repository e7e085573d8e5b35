"""Powers, and sums of exponentials."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import inline_jit, library_jit, remembered
from tinytrace.core.array import Array
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import is_complex, is_inexact, is_integer
from tinytrace.core.trace import Tracer
from tinytrace.numpy.classification import isposinf
from tinytrace.numpy.elementwise import inexact_binary, strong_like
from tinytrace.numpy.exponential import exp2
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    check_arraylike,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_numeric,
    promote_shapes,
)

float_power = inexact_binary("float_power", lax.pow, """Return `x` to the power of `y`, computed in floats.

    >>> jnp.float_power(jnp.array([2, 3]), 2)
    Array([4., 9.], dtype=float32)
    """)


def power(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return `x1` to the power of `x2`; an integer that is known while tracing becomes `integer_pow`.

    Raises: TypeError for an integer to the power of a negative one.

    >>> jnp.power(jnp.array([1, 2, 3]), 2)
    Array([1, 4, 9], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.power.html.
    """
    if type(x2) is int and isinstance(x1, (Array, Tracer)):
        return _to_the(x1, x2)
    check_arraylike("power", x1, x2)
    exponent = _known_integer(x2)
    if exponent is not None:
        return lax.integer_pow(promote_dtypes_numeric(x1)[0], exponent)
    return _power(x1, x2)


@remembered("exponent", static_argnums=(1,), elementwise=True)
def _to_the(base: ArrayLike, exponent: int = 2) -> Value:
    return lax.integer_pow(promote_dtypes_numeric(base)[0], exponent)


@inline_jit()
def _power(x1: ArrayLike, x2: ArrayLike) -> Value:
    x1, x2 = promote_shapes("power", x1, x2)
    base, exponent = promote_args_numeric("power", x1, x2)
    if not is_inexact(aval_of(base).dtype):
        return _integer_power(base, exponent)
    if is_inexact(aval_of(x1).dtype) and is_integer(aval_of(x2).dtype):
        return lax.pow(x1, x2)  # pow takes an integer exponent as it is
    return lax.pow(base, exponent)


def _known_integer(x: Any) -> int | None:
    if type(x) is Array and (x.ndim or not is_integer(x.dtype)):
        return None
    value = x.to_concrete_value() if isinstance(x, Tracer) else x
    try:
        return None if value is None else operator.index(value)
    except TypeError:
        return None


def _integer_power(base: Value, exponent: Value) -> Value:
    """Square and multiply, for exponents up to 63: exact where floats would round."""
    zero, one = strong_like(exponent, 0), strong_like(exponent, 1)
    result = choose_where(lax.bitwise_and(lax.eq(base, zero), lax.ne(exponent, zero)), zero, one)
    for _ in range(6):
        result = choose_where(lax.bitwise_and(exponent, one), lax.mul(result, base), result)
        base = lax.mul(base, base)
        exponent = lax.shift_right_logical(exponent, one)
    return result


def pow(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return `x1` to the power of `x2`: another name of `power`.

    >>> jnp.pow(jnp.array([1, 2, 3]), 2)
    Array([1, 4, 9], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.pow.html.
    """
    return power(x1, x2)


@library_jit(elementwise=True)
def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return `log(exp(x1) + exp(x2))` without overflow.

    >>> jnp.logaddexp(1000.0, 1000.0)
    Array(1000.6932, dtype=float32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.logaddexp.html.
    """
    return _logaddexp(*promote_args_inexact("logaddexp", x1, x2))


@custom_jvp
def _logaddexp(x1: Value, x2: Value) -> Value:
    if is_complex(aval_of(x1).dtype):
        larger = lax.max(x1, x2)
        out = lax.add(larger, lax.log1p(lax.exp(_less_twice(lax.add(x1, x2), larger))))
        return lax.complex(lax.real(out), _wrapped(lax.imag(out), np.pi))
    larger, difference = lax.max(x1, x2), lax.sub(x1, x2)
    return lax.select(lax.ne(difference, difference), lax.add(x1, x2),  # infinities of one sign, and nan
                      lax.add(larger, lax.log1p(lax.exp(lax.neg(lax.abs(difference))))))


@_logaddexp.defjvp
def _logaddexp_jvp(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Value, Value]:
    (x1, x2), (t1, t2) = primals, tangents
    out = _logaddexp(x1, x2)
    return out, lax.add(lax.mul(t1, lax.exp(lax.sub(_finite(x1), _finite(out)))),
                        lax.mul(t2, lax.exp(lax.sub(_finite(x2), _finite(out)))))


@library_jit(elementwise=True)
def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return `log2(2**x1 + 2**x2)` without overflow.

    >>> jnp.logaddexp2(1000.0, 1000.0)
    Array(1001., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.logaddexp2.html.
    """
    return _logaddexp2(*promote_args_inexact("logaddexp2", x1, x2))


@custom_jvp
def _logaddexp2(x1: Value, x2: Value) -> Value:
    if is_complex(aval_of(x1).dtype):
        larger = lax.max(x1, x2)
        steps = lax.log1p(exp2(_less_twice(lax.add(x1, x2), larger)))
        out = lax.add(larger, lax.div(steps, strong_like(x1, np.log(2))))
        return lax.complex(lax.real(out), _wrapped(lax.imag(out), np.pi / np.log(2)))
    larger, difference = lax.max(x1, x2), lax.sub(x1, x2)
    return lax.select(lax.ne(difference, difference), lax.add(x1, x2),
                      lax.add(larger, lax.div(lax.log1p(exp2(lax.neg(lax.abs(difference)))),
                                              strong_like(x1, np.log(2)))))


@_logaddexp2.defjvp
def _logaddexp2_jvp(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Value, Value]:
    (x1, x2), (t1, t2) = primals, tangents
    out = logaddexp2(x1, x2)
    return out, lax.add(lax.mul(t1, exp2(lax.sub(_finite(x1), _finite(out)))),
                        lax.mul(t2, exp2(lax.sub(_finite(x2), _finite(out)))))


def _less_twice(total: Value, larger: Value) -> Value:
    """Return the smaller of two numbers less the larger one."""
    return lax.sub(total, lax.mul(larger, strong_like(larger, 2)))


def _wrapped(angle: Value, half: float) -> Value:
    """Return angles in [-half, half]."""
    rest = lax.rem(lax.add(angle, strong_like(angle, half)), strong_like(angle, 2 * half))
    rest = lax.select(lax.lt(rest, strong_like(rest, 0)), lax.add(rest, strong_like(rest, 2 * half)), rest)
    return lax.sub(rest, strong_like(rest, half))


def _finite(x: Value) -> Value:
    """Replace inf by 0, so that the difference of two of them is no nan."""
    is_infinite = lax.eq(x, strong_like(x, np.inf)) if is_complex(aval_of(x).dtype) else isposinf(x)
    return lax.select(is_infinite, lax.full_like(x, 0), x)
