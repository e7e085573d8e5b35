"""Comparisons, maxima and minima, and tests of closeness."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import KeyType, is_complex, part_dtype
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.bits import bitwise_or, logical_and, logical_not, logical_or
from tinytrace.numpy.classification import isinf, isnan
from tinytrace.numpy.elementwise import Operation, binary
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    as_array,
    check_arraylike,
    convert,
    promote_args,
    promote_args_inexact,
)
from tinytrace.numpy.reductions import all as reduce_all

equal = binary("equal", lax.eq, """Say where `x == y`: bool of their common shape.

    >>> jnp.equal(jnp.array([1, 2]), 2)
    Array([False,  True], dtype=bool)
    """)

not_equal = binary("not_equal", lax.ne, """Say where `x != y`: bool of their common shape.

    >>> jnp.not_equal(jnp.array([1, 2]), 2)
    Array([ True, False], dtype=bool)
    """)


def _ordered(op: Operation) -> Operation:
    """A comparison; complex numbers are compared by real parts, and by imaginary parts where these are equal."""

    def compare(x: Any, y: Any) -> Value:
        if not is_complex(aval_of(x).dtype):
            return op(x, y)
        same = lax.eq(lax.real(x), lax.real(y))
        return lax.select(same, op(lax.imag(x), lax.imag(y)), op(lax.real(x), lax.real(y)))

    return compare


less = binary("less", _ordered(lax.lt), """Say where `x < y`: bool of their common shape.

    >>> jnp.less(jnp.array([1, 2]), 2)
    Array([ True, False], dtype=bool)
    """)

less_equal = binary("less_equal", _ordered(lax.le), """Say where `x <= y`: bool of their common shape.

    >>> jnp.less_equal(jnp.array([1, 2]), 2)
    Array([ True,  True], dtype=bool)
    """)

greater = binary("greater", _ordered(lax.gt), """Say where `x > y`: bool of their common shape.

    >>> jnp.greater(jnp.array([1, 2]), 1)
    Array([False,  True], dtype=bool)
    """)

greater_equal = binary("greater_equal", _ordered(lax.ge), """Say where `x >= y`: bool of their common shape.

    >>> jnp.greater_equal(jnp.array([1, 2]), 2)
    Array([False,  True], dtype=bool)
    """)

maximum = binary("maximum", lax.max, """Return the larger of two elements; nan where either is nan.

    >>> jnp.maximum(jnp.array([1, 5]), 3)
    Array([3, 5], dtype=int32)
    """)

minimum = binary("minimum", lax.min, """Return the smaller of two elements; nan where either is nan.

    >>> jnp.minimum(jnp.array([1, 5]), 3)
    Array([1, 3], dtype=int32)
    """)


@library_jit(elementwise=True)
def fmax(x1: ArrayLike, x2: ArrayLike) -> Value:
    """Return the larger of two elements, and the other one where one is nan.

    >>> jnp.fmax(jnp.nan, 3.0)
    Array(3., dtype=float32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.fmax.html.
    """
    return choose_where(bitwise_or(greater(x1, x2), isnan(x2)), x1, x2)


@library_jit(elementwise=True)
def fmin(x1: ArrayLike, x2: ArrayLike) -> Value:
    """Return the smaller of two elements, and the other one where one is nan.

    >>> jnp.fmin(jnp.nan, 3.0)
    Array(3., dtype=float32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.fmin.html.
    """
    return choose_where(bitwise_or(less(x1, x2), isnan(x2)), x1, x2)


@library_jit("equal_nan", elementwise=True)
def isclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08,
            equal_nan: bool = False) -> Value:
    """Say where `|a - b| <= atol + rtol * |b|`; infinities are close to themselves, nan only if `equal_nan`.

    >>> jnp.isclose(jnp.array([1.0, 1.1]), 1.000001)
    Array([ True, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isclose.html.
    """
    a, b = promote_args("isclose", a, b)
    if isinstance(aval_of(a).dtype, KeyType):
        return lax.eq(a, b)
    a, b = promote_args_inexact("isclose", a, b)
    dtype = part_dtype(aval_of(a).dtype)
    rtol, atol = convert(rtol, dtype), convert(atol, dtype)
    close = lax.le(lax.abs(lax.sub(a, b)), lax.add(atol, lax.mul(rtol, lax.abs(b))))
    a_inf, b_inf = isinf(a), isinf(b)
    any_inf, both_inf = logical_or(a_inf, b_inf), logical_and(a_inf, b_inf)
    close = logical_and(close, logical_not(any_inf))
    close = logical_or(close, logical_and(both_inf, lax.eq(a, b)))
    a_nan, b_nan = isnan(a), isnan(b)
    close = logical_and(close, logical_not(logical_or(a_nan, b_nan)))
    return logical_or(close, logical_and(a_nan, b_nan)) if equal_nan else close


@library_jit("equal_nan")
def allclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08,
             equal_nan: bool = False) -> Value:
    """Say whether `isclose` holds everywhere: bool[].

    >>> jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0000001]))
    Array(True, dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.allclose.html.
    """
    check_arraylike("allclose", a, b)
    return reduce_all(isclose(a, b, rtol, atol, equal_nan))


@remembered("equal_nan")
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Value:
    """Say whether two arrays have one shape and equal elements: bool[].

    >>> jnp.array_equal(jnp.array([1, 2]), jnp.array([1, 2]))
    Array(True, dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.array_equal.html.
    """
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return as_array(np.bool_(False))
    same = equal(a1, a2)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(a1), isnan(a2)))
    return reduce_all(same)


@remembered()
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Value:
    """Say whether two arrays have equal elements after broadcasting: bool[].

    >>> jnp.array_equiv(jnp.array([1, 1]), 1)
    Array(True, dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.array_equiv.html.
    """
    a1, a2 = asarray(a1), asarray(a2)
    try:
        same = equal(a1, a2)
    except (TypeError, ValueError):
        return as_array(np.bool_(False))
    return reduce_all(same)
