"""The confluent hypergeometric function of the first kind, by its power series and by an asymptotic one.

Source: Pearson, Olver and Porter, "Numerical methods for the computation of the confluent and Gauss hypergeometric
functions" (2014), methods 3.2 (a) and 3.8 (a).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import library_jit
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.scipy.gamma_functions import digamma, gamma

__all__ = ["hyp1f1"]
_MOST = 250
"""Terms of a series."""


@custom_jvp
@library_jit()
@jnp.vectorize
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Value:
    """Return the sum over k of (a)_k / (b)_k x**k / k!, with rising factorials (a)_k.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.hyp1f1.html.

    >>> jax.scipy.special.hyp1f1(1.0, 2.0, 1.0).round(4)
    Array(1.7183, dtype=float32)
    """
    a, b, x = promote_args_inexact("hyp1f1", a, b, x)
    result = lax.cond(lax.abs(x) < 100, _power_series, _asymptotic_series, a, b, x)
    index = (a == 0) * 1 + ((a == b) & (a != 0)) * 2 + ((b == 0) & (a != 0)) * 3
    return lax.select_n(
        index, result, jnp.array(1, dtype=x.dtype), jnp.exp(x), jnp.array(np.inf, dtype=x.dtype))


def _summed(first: Any, term: Any, dtype: Any, following: Callable[[Any, Any], Any],
            weighted: Callable[[Any, Any], Any] = lambda term, k: term) -> Any:
    """Return the sum of terms, number 1 and on, until they are too small to matter."""
    precision = jnp.finfo(dtype).eps

    def step(state: Any) -> Any:
        total, k, term = state
        total += weighted(term, k)
        term = following(term, k)
        return total, k + 1, term

    def matters(state: Any) -> Any:
        total, k, term = state
        return (k < _MOST) & (lax.abs(term) / lax.abs(total) > precision)

    return lax.while_loop(matters, step, (first, 1, term))[0]


def _power_series(a: Any, b: Any, x: Any) -> Any:
    return _summed(1, a / b * x, x.dtype, lambda term, k: term * ((a + k) / (b + k) * x / (k + 1)))


def _asymptotic_series(a: Any, b: Any, x: Any) -> Any:
    total = _summed(1, (b - a) * (1 - a) / x, x.dtype,
                    lambda term, k: term * ((b - a + k) * (1 - a + k) / (k + 1) / x))
    return gamma(b) / gamma(a) * lax.exp(x) * x**(a - b) * total


@library_jit()
@jnp.vectorize
def _by_a(a: Any, b: Any, x: Any) -> Any:
    return _summed(0, a / b * x, x.dtype, lambda term, k: term * ((a + k) / (b + k) * x / (k + 1)),
                   lambda term, k: term * (digamma(a + k) - digamma(a)))


@library_jit()
@jnp.vectorize
def _by_b(a: Any, b: Any, x: Any) -> Any:
    return _summed(0, a / b * x, x.dtype, lambda term, k: term * ((a + k) / (b + k) * x / (k + 1)),
                   lambda term, k: term * (digamma(b) - digamma(b + k)))


@library_jit()
def _by_x(a: Any, b: Any, x: Any) -> Any:
    return a / b * hyp1f1(a + 1, b + 1, x)


hyp1f1.defjvps(lambda t, out, a, b, x: _by_a(a, b, x) * t, lambda t, out, a, b, x: _by_b(a, b, x) * t,
               lambda t, out, a, b, x: _by_x(a, b, x) * t)
