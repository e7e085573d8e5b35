"""The negative binomial distribution: how many trials fail before `n` succeed, each with probability `p`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.nbinom.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.entropies import xlogy
from tinytrace.scipy.gamma_functions import gammaln


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the logarithm of the probability of `k`.

    >>> jax.scipy.stats.nbinom.logpmf(jnp.array([0.0, 3.0]), 5, 0.3)
    """
    k, n, p, loc = promote_args_inexact("nbinom.logpmf", k, n, p, loc)
    one = const_like(k, 1)
    y = lax.sub(k, loc)
    log_ways = lax.sub(lax.sub(gammaln(lax.add(y, n)), gammaln(n)), gammaln(lax.add(y, one)))
    log_each = lax.add(xlogy(n, p), xlogy(y, lax.sub(one, p)))
    value = lax.add(log_ways, log_each)
    return where(lax.lt(k, loc), -np.inf, value)


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the probability of `k`.

    >>> jax.scipy.stats.nbinom.pmf(jnp.array([0.0, 3.0]), 5, 0.3)
    """
    return lax.exp(logpmf(k, n, p, loc))
