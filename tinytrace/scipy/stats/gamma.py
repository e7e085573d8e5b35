"""The gamma distribution with exponent `a - 1`, from `loc` on, stretched by `scale`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.gamma.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.entropies import xlogy
from tinytrace.scipy.gamma_functions import gammainc, gammaincc, gammaln


def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.gamma.logpdf(jnp.array([0.5, 2.0]), 2.0)
    """
    x, a, loc, scale = promote_args_inexact("gamma.logpdf", x, a, loc, scale)
    one = const_like(x, 1)
    y = lax.div(lax.sub(x, loc), scale)
    kernel = lax.sub(xlogy(lax.sub(a, one), y), y)
    normalizer = lax.add(gammaln(a), lax.log(scale))
    value = lax.sub(kernel, normalizer)
    return where(lax.lt(x, loc), -np.inf, value)


def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.gamma.pdf(jnp.array([0.5, 2.0]), 2.0)
    """
    return lax.exp(logpdf(x, a, loc, scale))


def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of less than `x`.

    >>> jax.scipy.stats.gamma.cdf(jnp.array([0.5, 2.0]), 2.0)
    """
    x, a, loc, scale = promote_args_inexact("gamma.cdf", x, a, loc, scale)
    y = lax.clamp(const_like(x, 0), lax.div(lax.sub(x, loc), scale), const_like(x, np.inf))
    return gammainc(a, y)


def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of less than `x`.

    >>> jax.scipy.stats.gamma.logcdf(jnp.array([0.5, 2.0]), 2.0)
    """
    return lax.log(cdf(x, a, loc, scale))


def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of more than `x`.

    >>> jax.scipy.stats.gamma.sf(jnp.array([0.5, 2.0]), 2.0)
    """
    x, a, loc, scale = promote_args_inexact("gamma.sf", x, a, loc, scale)
    return gammaincc(a, lax.div(lax.sub(x, loc), scale))


def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of more than `x`.

    >>> jax.scipy.stats.gamma.logsf(jnp.array([0.5, 2.0]), 2.0)
    """
    return lax.log(sf(x, a, loc, scale))
