"""The Poisson distribution with mean `mu`, moved by `loc`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.poisson.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.bits import logical_or
from tinytrace.numpy.exponential import exp
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.rounding import floor, round
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.entropies import xlogy
from tinytrace.scipy.gamma_functions import gammaincc, gammaln


def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the logarithm of the probability of `k`.

    >>> jax.scipy.stats.poisson.logpmf(jnp.array([0.0, 3.0]), 2.0)
    """
    k, mu, loc = promote_args_inexact("poisson.logpmf", k, mu, loc)
    zero = const_like(k, 0)
    x = lax.sub(k, loc)
    value = xlogy(x, mu) - gammaln(x + 1) - mu
    return where(logical_or(lax.lt(x, zero), lax.ne(round(k), k)), -np.inf, value)


def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the probability of `k`.

    >>> jax.scipy.stats.poisson.pmf(jnp.array([0.0, 3.0]), 2.0)
    """
    return exp(logpmf(k, mu, loc))


def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the probability of `k` or less.

    >>> jax.scipy.stats.poisson.cdf(jnp.array([0.0, 3.0]), 2.0)
    """
    k, mu, loc = promote_args_inexact("poisson.logpmf", k, mu, loc)
    zero = const_like(k, 0)
    x = lax.sub(k, loc)
    value = gammaincc(floor(1 + x), mu)
    return where(lax.lt(x, zero), zero, value)
