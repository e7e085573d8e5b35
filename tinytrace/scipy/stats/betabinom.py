"""The beta-binomial distribution: how many of `n` trials succeed whose probability is a beta(a, b) sample.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.betabinom.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.bits import logical_and, logical_or
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.gamma_functions import betaln


def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the logarithm of the probability of `k`.

    >>> jax.scipy.stats.betabinom.logpmf(jnp.array([0.0, 3.0]), 5, 2.0, 3.0)
    """
    k, n, a, b, loc = promote_args_inexact("betabinom.logpmf", k, n, a, b, loc)
    y = lax.sub(lax.floor(k), loc)
    one, zero = const_like(y, 1), const_like(y, 0)
    log_ways = lax.neg(lax.add(lax.log1p(n), betaln(lax.add(lax.sub(n, y), one), lax.add(y, one))))
    log_each = lax.sub(betaln(lax.add(y, a), lax.add(lax.sub(n, y), b)), betaln(a, b))
    value = lax.add(log_ways, log_each)
    value = where(logical_and(lax.eq(y, zero), lax.eq(n, zero)), 0.0, value)
    outside = logical_or(logical_or(lax.lt(y, lax.neg(loc)), lax.gt(y, n)), lax.le(lax.add(y, a), zero))
    value = where(outside, -np.inf, value)
    improper = logical_or(logical_or(lax.lt(n, zero), lax.le(a, zero)), lax.le(b, zero))
    return where(improper, np.nan, value)


def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the probability of `k`.

    >>> jax.scipy.stats.betabinom.pmf(jnp.array([0.0, 3.0]), 5, 2.0, 3.0)
    """
    return lax.exp(logpmf(k, n, a, b, loc))
