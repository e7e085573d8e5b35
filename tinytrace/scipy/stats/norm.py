"""The normal distribution with mean `loc` and standard deviation `scale`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.norm.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.normal_functions import log_ndtr, ndtr, ndtri


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.norm.logpdf(jnp.array([0.0, 1.0]))
    """
    x, loc, scale = promote_args_inexact("norm.logpdf", x, loc, scale)
    variance = lax.square(scale)
    normalizer = lax.log(lax.mul(const_like(x, 2 * np.pi), variance))
    return lax.div(lax.add(normalizer, lax.div(lax.square(lax.sub(x, loc)), variance)), const_like(x, -2))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.norm.pdf(jnp.array([0.0, 1.0]))
    """
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of less than `x`.

    >>> jax.scipy.stats.norm.cdf(jnp.array([0.0, 1.0]))
    """
    x, loc, scale = promote_args_inexact("norm.cdf", x, loc, scale)
    return ndtr(lax.div(lax.sub(x, loc), scale))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of less than `x`, also where that is very small.

    >>> jax.scipy.stats.norm.logcdf(jnp.array([-30.0, 1.0]))
    """
    x, loc, scale = promote_args_inexact("norm.logcdf", x, loc, scale)
    return log_ndtr(lax.div(lax.sub(x, loc), scale))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of more than `x`.

    >>> jax.scipy.stats.norm.sf(jnp.array([0.0, 1.0]))
    """
    x, loc, scale = promote_args_inexact("norm.sf", x, loc, scale)
    return cdf(lax.neg(x), lax.neg(loc), scale)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of more than `x`, also where that is very small.

    >>> jax.scipy.stats.norm.logsf(jnp.array([0.0, 30.0]))
    """
    x, loc, scale = promote_args_inexact("norm.logsf", x, loc, scale)
    return logcdf(lax.neg(x), lax.neg(loc), scale)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the value below which lies a share `q` of the distribution.

    >>> jax.scipy.stats.norm.ppf(jnp.array([0.5, 0.975]))
    """
    q, loc, scale = promote_args_inexact("norm.ppf", q, loc, scale)
    return lax.add(lax.mul(ndtri(q), scale), loc)


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the value above which lies a share `q` of the distribution.

    >>> jax.scipy.stats.norm.isf(jnp.array([0.5, 0.025]))
    """
    return ppf(lax.sub(const_like(q, 1), q), loc, scale)
