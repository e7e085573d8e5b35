"""Exponential integrals: `expn(n, x)`, the integral of exp(-x t) / t^n from 1 on, `exp1` and `expi`.

Source: S. Moshier, "Methods and programs for mathematical functions" (1989), expn.c; Abramowitz and Stegun (1964), 5.1.
"""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.dtypes import FLOAT32, is_half
from tinytrace.numpy.array_creation import ones_like
from tinytrace.numpy.exponential import exp, log
from tinytrace.numpy.promotion import ArrayLike, Value, broadcast_arrays, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.scipy.fitted_expi import fitted_expi
from tinytrace.scipy.gamma_functions import digamma, gamma

TERMS = 100
"""Of the continued fraction of `expn`, whose error is exp(-4 * sqrt(TERMS * x)) of it."""


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def expn(n: ArrayLike, x: ArrayLike) -> Value:
    """Return the exponential integral of order n: the integral of `exp(-x * t) / t**n` for t from 1 on.

    NaN for a negative n or x.  See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.expn.html.

    >>> jax.scipy.special.expn(2, jnp.array([0.0, 1.0]))
    Array([1.        , 0.14849551], dtype=float32)
    """
    return _expn(*promote_args_inexact("expn", n, x))


@expn.defjvp
def _expn_jvp(n: ArrayLike, primals: tuple[Any], tangents: tuple[Any]) -> tuple[Value, Value]:
    (x,), (x_dot,) = primals, tangents
    return expn(n, x), -expn(n - 1, x) * x_dot


expn = remembered(numbers=True)(expn)


@remembered()
def exp1(x: ArrayLike) -> Value:
    """Return the exponential integral of order 1: the integral of `exp(-t) / t` for t from x on.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.exp1.html.

    >>> jax.scipy.special.exp1(1.0)
    Array(0.21938393, dtype=float32)
    """
    x, = promote_args_inexact("exp1", x)
    return expn(1, x)


@custom_jvp
def expi(x: ArrayLike) -> Value:
    """Return the principal value of the integral of `exp(t) / t` for t up to x.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.expi.html.

    >>> jax.scipy.special.expi(jnp.array([-1.0, 1.0]))
    Array([-0.21938393,  1.8951178 ], dtype=float32)
    """
    return _expi(*promote_args_inexact("expi", x))


expi.defjvps(lambda x_dot, ans, x: exp(x) / x * x_dot)
expi = remembered()(expi)


@library_jit()
def _expi(x: Value) -> Value:
    if is_half(x.dtype):
        return lax.convert_element_type(fitted_expi(lax.convert_element_type(x, FLOAT32)), x.dtype)
    return fitted_expi(x)


@library_jit()
def _expn(n: Value, x: Value) -> Value:
    n, x = broadcast_arrays(n, x)
    small = where((x > 0) & (x <= 1), x, 0.5)
    large = where((x > 1) & (x < np.inf), x, 2.0)
    order = where(n >= 1, n, 1.0)
    value = where(x <= 1, _series(order, small), _continued_fraction(order, large))
    value = where(x == np.inf, 0.0, value)
    value = where(x == 0, where(n > 1, 1 / where(n > 1, n - 1, 1.0), np.inf), value)
    value = where(n == 0, exp(-x) / x, value)
    return where((n < 0) | (x < 0) | (x != x) | (n != n), np.nan, value)


def _series(n: Value, x: Value) -> Value:
    """Return the power series, for 0 < x <= 1."""

    def add(k: Any, state: tuple[Value, Value]) -> tuple[Value, Value]:
        total, term = state
        k = lax.convert_element_type(k, x.dtype)
        term = term * (-x / k)
        skipped = k == n - 1  # it is the one with a logarithm
        return total - where(skipped, 0.0, term / where(skipped, 1.0, k - n + 1)), term

    first = where(n == 1, 0.0, 1 / where(n == 1, 1.0, n - 1))
    total = lax.fori_loop(1, 30, add, (first, ones_like(x)))[0]
    sign = where(n % 2 == 0, -1.0, 1.0)
    return sign * x ** (n - 1) / gamma(n) * (digamma(n) - log(x)) + total


def _continued_fraction(n: Value, x: Value) -> Value:
    """Return exp(-x) / (x + n - 1 n / (x + n + 2 - 2 (n + 1) / (x + n + 4 - ...))), for x > 1, from inside outwards."""

    def divide(k: Any, rest: Value) -> Value:
        k = lax.convert_element_type(TERMS - k, x.dtype)
        return x + n + 2 * (k - 1) - k * (n - 1 + k) / rest

    return exp(-x) / lax.fori_loop(0, TERMS, divide, x + n + 2 * TERMS)
