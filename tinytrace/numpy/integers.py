"""Greatest common divisors and least common multiples."""
from __future__ import annotations

from typing import Any

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import is_integer
from tinytrace.numpy.arithmetic import abs, floor_divide, multiply
from tinytrace.numpy.promotion import ArrayLike, Value, broadcast_arrays, check_arraylike, promote_dtypes
from tinytrace.numpy.reductions import any
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like


@library_jit()
def gcd(x1: ArrayLike, x2: ArrayLike) -> Value:
    """Return the greatest common divisor of each pair of integers.

    >>> jnp.gcd(12, 18)
    Array(6, dtype=int32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.gcd.html.
    """
    check_arraylike("gcd", x1, x2)
    x1, x2 = promote_dtypes(x1, x2)
    if not is_integer(aval_of(x1).dtype):
        raise ValueError("Arguments to jax.numpy.gcd must be integers.")
    x1, x2 = broadcast_arrays(x1, x2)
    return lax.while_loop(_is_not_done, _euclid, (abs(x1), abs(x2)))[0]


def _is_not_done(pair: tuple[Any, Any]) -> Value:
    return any(pair[1] != 0)


def _euclid(pair: tuple[Any, Any]) -> tuple[Value, Value]:
    x, y = pair
    x, y = where(y != 0, y, x), where(y != 0, lax.rem(x, y), const_like(y, 0))
    return where(x < y, y, x), where(x < y, x, y)


@library_jit()
def lcm(x1: ArrayLike, x2: ArrayLike) -> Value:
    """Return the least common multiple of each pair of integers.

    >>> jnp.lcm(4, 6)
    Array(12, dtype=int32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.lcm.html.
    """
    check_arraylike("lcm", x1, x2)
    x1, x2 = promote_dtypes(x1, x2)
    x1, x2 = abs(x1), abs(x2)
    if not is_integer(aval_of(x1).dtype):
        raise ValueError("Arguments to jax.numpy.lcm must be integers.")
    d = gcd(x1, x2)
    return where(d == 0, const_like(d, 0), multiply(x1, floor_divide(x2, d)))
