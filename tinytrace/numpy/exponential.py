"""Exponentials, logarithms and roots."""
from __future__ import annotations

from tinytrace import lax
from tinytrace.api.library import remembered
from tinytrace.numpy.elementwise import inexact_unary, strong_like
from tinytrace.numpy.promotion import ArrayLike, Value, check_arraylike, promote_dtypes_inexact, promote_dtypes_numeric

exp = inexact_unary("exp", lax.exp, """Return e to the power of each element of `x: f32[...]`.

    >>> jnp.exp(0.0)
    Array(1., dtype=float32, weak_type=True)
    """)

expm1 = inexact_unary("expm1", lax.expm1, """Return `exp(x) - 1`, exact to the last digits also for small `x: f32[...]`.

    >>> jnp.expm1(1e-7)
    Array(1.e-07, dtype=float32, weak_type=True)
    """)

exp2 = inexact_unary("exp2", lax.exp2, """Return 2 to the power of each element of `x: f32[...]`.

    >>> jnp.exp2(3.0)
    Array(8., dtype=float32, weak_type=True)
    """)

log = inexact_unary("log", lax.log, """Return the natural logarithm of each element of `x: f32[...]`; nan below zero.

    >>> jnp.log(1.0)
    Array(0., dtype=float32, weak_type=True)
    """)

log1p = inexact_unary("log1p", lax.log1p, """Return `log(1 + x)`, exact to the last digits also for small `x: f32[...]`.

    >>> jnp.log1p(0.0)
    Array(0., dtype=float32, weak_type=True)
    """)

sqrt = inexact_unary("sqrt", lax.sqrt, """Return the square root of each element of `x: f32[...]`; nan below zero.

    >>> jnp.sqrt(jnp.array([1, 4, 9]))
    Array([1., 2., 3.], dtype=float32)
    """)

cbrt = inexact_unary("cbrt", lax.cbrt, """Return the cube root of each element of `x: f32[...]`.

    >>> jnp.cbrt(27.0)
    Array(3., dtype=float32, weak_type=True)
    """)

log2 = inexact_unary("log2", lambda x: lax.div(lax.log(x), lax.log(strong_like(x, 2))),
                     """Return the logarithm to base 2 of each element of `x: f32[...]`.

    >>> jnp.log2(8.0)
    Array(3., dtype=float32)
    """)

log10 = inexact_unary("log10", lambda x: lax.div(lax.log(x), lax.log(strong_like(x, 10))),
                      """Return the logarithm to base 10 of each element of `x: f32[...]`.

    >>> jnp.log10(100.0)
    Array(1.9999999, dtype=float32)
    """)


@remembered(elementwise=True)
def square(x: ArrayLike, /) -> Value:
    """Return `x * x`.

    >>> jnp.square(3)
    Array(9, dtype=int32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.square.html.
    """
    check_arraylike("square", x)
    return lax.integer_pow(promote_dtypes_numeric(x)[0], 2)


@remembered(elementwise=True)
def reciprocal(x: ArrayLike, /) -> Value:
    """Return `1 / x`.

    >>> jnp.reciprocal(4)
    Array(0.25, dtype=float32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.reciprocal.html.
    """
    check_arraylike("reciprocal", x)
    return lax.integer_pow(promote_dtypes_inexact(x)[0], -1)
