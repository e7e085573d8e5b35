"""The beta distribution on [loc, loc + scale], with exponents `a - 1` and `b - 1`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.beta.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.bits import logical_or
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.entropies import xlog1py, xlogy
from tinytrace.scipy.gamma_functions import betainc, betaln


def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.beta.logpdf(jnp.array([0.2, 0.7]), 2.0, 3.0)
    """
    x, a, b, loc, scale = promote_args_inexact("beta.logpdf", x, a, b, loc, scale)
    one, zero = const_like(x, 1), const_like(a, 0)
    normalizer = lax.neg(betaln(a, b))
    y = lax.div(lax.sub(x, loc), scale)
    powers = lax.add(xlogy(lax.sub(a, one), y), xlog1py(lax.sub(b, one), lax.neg(y)))
    value = lax.sub(lax.add(normalizer, powers), lax.log(scale))
    outside = logical_or(lax.gt(x, lax.add(loc, scale)), lax.lt(x, loc))
    value = where(outside, -np.inf, value)
    improper = logical_or(logical_or(lax.le(a, zero), lax.le(b, zero)), lax.le(scale, zero))
    return where(improper, np.nan, value)


def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.beta.pdf(jnp.array([0.2, 0.7]), 2.0, 3.0)
    """
    return lax.exp(logpdf(x, a, b, loc, scale))


def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of less than `x`.

    >>> jax.scipy.stats.beta.cdf(jnp.array([0.2, 0.7]), 2.0, 3.0)
    """
    x, a, b, loc, scale = promote_args_inexact("beta.cdf", x, a, b, loc, scale)
    share = lax.clamp(const_like(x, 0), lax.div(lax.sub(x, loc), scale), const_like(x, 1))
    return betainc(a, b, share)


def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of less than `x`.

    >>> jax.scipy.stats.beta.logcdf(jnp.array([0.2, 0.7]), 2.0, 3.0)
    """
    return lax.log(cdf(x, a, b, loc, scale))


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of more than `x`.

    >>> jax.scipy.stats.beta.sf(jnp.array([0.2, 0.7]), 2.0, 3.0)
    """
    x, a, b, loc, scale = promote_args_inexact("beta.sf", x, a, b, loc, scale)
    share = lax.clamp(const_like(x, 0), lax.div(lax.sub(x, loc), scale), const_like(x, 1))
    return betainc(b, a, 1 - share)


def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of more than `x`.

    >>> jax.scipy.stats.beta.logsf(jnp.array([0.2, 0.7]), 2.0, 3.0)
    """
    return lax.log(sf(x, a, b, loc, scale))
