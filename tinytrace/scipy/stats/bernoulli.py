"""The Bernoulli distribution: 1 with probability `p`, 0 otherwise.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.bernoulli.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.bits import logical_and, logical_or
from tinytrace.numpy.classification import isnan
from tinytrace.numpy.exponential import exp
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import select, where
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.entropies import xlog1py, xlogy


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the logarithm of the probability of `k`.

    >>> jax.scipy.stats.bernoulli.logpmf(jnp.array([0.0, 1.0]), 0.3)
    """
    k, p, loc = promote_args_inexact("bernoulli.logpmf", k, p, loc)
    zero, one = const_like(k, 0), const_like(k, 1)
    x = lax.sub(k, loc)
    value = xlogy(x, p) + xlog1py(lax.sub(one, x), -p)
    return where(logical_or(lax.lt(x, zero), lax.gt(x, one)), -np.inf, value)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the probability of `k`.

    >>> jax.scipy.stats.bernoulli.pmf(jnp.array([0.0, 1.0]), 0.3)
    """
    return exp(logpmf(k, p, loc))


def cdf(k: ArrayLike, p: ArrayLike) -> Value:
    """Return the probability of `k` or less.

    >>> jax.scipy.stats.bernoulli.cdf(jnp.array([0.0, 1.0]), 0.3)
    """
    k, p = promote_args_inexact("bernoulli.cdf", k, p)
    zero, one = const_like(k, 0), const_like(k, 1)
    improper = isnan(k) | isnan(p) | (p < zero) | (p > one)
    below = lax.lt(k, zero)
    between = logical_and(lax.ge(k, zero), lax.lt(k, one))
    return select([improper, below, between, lax.ge(k, one)], [np.nan, zero, one - p, one])


def ppf(q: ArrayLike, p: ArrayLike) -> Value:
    """Return the least number that is not exceeded with probability `q`.

    >>> jax.scipy.stats.bernoulli.ppf(jnp.array([0.2, 0.9]), 0.3)
    """
    q, p = promote_args_inexact("bernoulli.ppf", q, p)
    zero, one = const_like(q, 0), const_like(q, 1)
    improper = isnan(q) | isnan(p) | (p < zero) | (p > one) | (q < zero) | (q > one)
    return where(improper, np.nan, where(lax.le(q, one - p), zero, one))
