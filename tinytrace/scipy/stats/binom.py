"""The binomial distribution: how many of `n` trials succeed, each with probability `p`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.binom.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.bits import logical_and, logical_or
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.entropies import xlog1py, xlogy
from tinytrace.scipy.gamma_functions import gammaln


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the logarithm of the probability of `k`.

    >>> jax.scipy.stats.binom.logpmf(jnp.array([0.0, 3.0]), 5, 0.3)
    """
    k, n, p, loc = promote_args_inexact("binom.logpmf", k, n, p, loc)
    y = lax.sub(k, loc)
    zero = const_like(y, 0)
    log_ways = lax.sub(gammaln(n + 1), lax.add(gammaln(y + 1), gammaln(n - y + 1)))
    log_each = lax.add(xlogy(y, p), xlog1py(lax.sub(n, y), lax.neg(p)))
    value = lax.add(log_ways, log_each)
    certain = logical_or(logical_and(lax.eq(y, zero), lax.eq(n, zero)), lax.eq(log_each, zero))
    value = where(certain, 0.0, value)
    return where(lax.ge(k, loc) & lax.lt(k, loc + n + 1), value, -np.inf)


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the probability of `k`.

    >>> jax.scipy.stats.binom.pmf(jnp.array([0.0, 3.0]), 5, 0.3)
    """
    return lax.exp(logpmf(k, n, p, loc))
