"""Rounding, and cutting floats into parts."""
from __future__ import annotations

import operator

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import FLOAT16, FLOAT32, is_complex, is_discrete, is_integer
from tinytrace.numpy.elementwise import rounding
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    as_array,
    check_arraylike,
    convert,
    float_dtype,
    promote_dtypes_inexact,
)
from tinytrace.primitives.elementwise import const_like, zero_like

floor = rounding("floor", lax.floor, """Round each element down.

    >>> jnp.floor(jnp.array([1.7, -1.2]))
    Array([ 1., -2.], dtype=float32)
    """)

ceil = rounding("ceil", lax.ceil, """Round each element up.

    >>> jnp.ceil(jnp.array([1.7, -1.2]))
    Array([ 2., -1.], dtype=float32)
    """)


@library_jit(elementwise=True)
def trunc(x: ArrayLike) -> Value:
    """Round each element towards zero.

    >>> jnp.trunc(jnp.array([1.7, -1.2]))
    Array([ 1., -1.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.trunc.html.
    """
    check_arraylike("trunc", x)
    if is_discrete(aval_of(x).dtype):
        return as_array(x)
    return choose_where(lax.lt(x, const_like(x, 0)), ceil(x), floor(x))


@library_jit(elementwise=True)
def fix(x: ArrayLike, out: None = None) -> Value:
    """Round each element towards zero.

    >>> jnp.fix(jnp.array([1.7, -1.2]))
    Array([ 1., -1.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fix.html.
    """
    check_arraylike("fix", x)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.fix is not supported.")
    return choose_where(lax.ge(x, const_like(x, 0)), floor(x), ceil(x))


@library_jit(elementwise=True)
def rint(x: ArrayLike, /) -> Value:
    """Round each element to the nearest integer, halves to the even one, as a float.

    >>> jnp.rint(jnp.array([0.5, 1.5, 2.6]))
    Array([0., 2., 3.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.rint.html.
    """
    check_arraylike("rint", x)
    if is_discrete(aval_of(x).dtype):
        return convert(x, float_dtype())
    if is_complex(aval_of(x).dtype):
        return lax.complex(rint(lax.real(x)), rint(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@library_jit("decimals", elementwise=True)
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Value:
    """Round to `decimals` digits after the point, halves to even.

    >>> jnp.round(jnp.array([1.234, 5.678]), 1)
    Array([1.2      , 5.7000003], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.round.html.
    """
    check_arraylike("round", a)
    decimals = operator.index(decimals)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.round is not supported.")
    dtype = aval_of(a).dtype
    if is_integer(dtype):
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return as_array(a)
    if is_complex(dtype):
        return lax.complex(_round_float(lax.real(a), decimals), _round_float(lax.imag(a), decimals))
    return _round_float(a, decimals)


def _round_float(a: Value, decimals: int) -> Value:
    if decimals == 0:
        return lax.round(a, lax.RoundingMethod.TO_NEAREST_EVEN)
    dtype = aval_of(a).dtype
    x = convert(a, FLOAT32) if dtype == FLOAT16 else a
    factor = const_like(x, 10 ** decimals)
    rounded = lax.div(lax.round(lax.mul(x, factor), lax.RoundingMethod.TO_NEAREST_EVEN), factor)
    return convert(rounded, dtype) if dtype == FLOAT16 else rounded


@library_jit("decimals", elementwise=True)
def around(a: ArrayLike, decimals: int = 0, out: None = None) -> Value:
    """Another name of `round`.

    >>> jnp.around(jnp.array([1.234, 5.678]), 1)
    Array([1.2      , 5.7000003], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.around.html.
    """
    return round(a, decimals, out)


@library_jit()
def modf(x: ArrayLike, /, out: None = None) -> tuple[Value, Value]:
    """Return the fractional and the integral part of each element, both with its sign.

    >>> jnp.modf(jnp.array([1.5, -2.25]))
    (Array([ 0.5 , -0.25], dtype=float32), Array([ 1., -2.], dtype=float32))

    See https://numpy.org/doc/stable/reference/generated/numpy.modf.html.
    """
    check_arraylike("modf", x)
    x, = promote_dtypes_inexact(x)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.modf is not supported.")
    whole = choose_where(lax.ge(x, zero_like(x)), floor(x), ceil(x))
    return lax.sub(x, whole), whole

