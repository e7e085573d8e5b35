"""The chi-square distribution with `df` degrees of freedom, moved by `loc` and stretched by `scale`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.chi2.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.gamma_functions import gammainc, gammaincc


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.chi2.logpdf(jnp.array([0.5, 2.0]), 3.0)
    """
    x, df, loc, scale = promote_args_inexact("chi2.logpdf", x, df, loc, scale)
    one, two = const_like(x, 1), const_like(x, 2)
    y = lax.div(lax.sub(x, loc), scale)
    half_df = lax.div(df, two)
    kernel = lax.sub(lax.mul(lax.sub(half_df, one), lax.log(y)), lax.div(y, two))
    normalizer = lax.neg(lax.add(lax.lgamma(half_df), lax.div(lax.mul(lax.log(two), df), two)))
    value = lax.add(lax.sub(normalizer, lax.log(scale)), kernel)
    return where(lax.lt(x, loc), -np.inf, value)


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.chi2.pdf(jnp.array([0.5, 2.0]), 3.0)
    """
    return lax.exp(logpdf(x, df, loc, scale))


def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of less than `x`.

    >>> jax.scipy.stats.chi2.cdf(jnp.array([0.5, 2.0]), 3.0)
    """
    x, df, loc, scale = promote_args_inexact("chi2.cdf", x, df, loc, scale)
    two = const_like(scale, 2)
    half_df = lax.div(df, two)
    half = lax.clamp(const_like(x, 0), lax.div(lax.sub(x, loc), lax.mul(scale, two)), const_like(x, np.inf))
    return gammainc(half_df, half)


def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of less than `x`.

    >>> jax.scipy.stats.chi2.logcdf(jnp.array([0.5, 2.0]), 3.0)
    """
    return lax.log(cdf(x, df, loc, scale))


def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of more than `x`.

    >>> jax.scipy.stats.chi2.sf(jnp.array([0.5, 2.0]), 3.0)
    """
    x, df, loc, scale = promote_args_inexact("chi2.sf", x, df, loc, scale)
    two = const_like(scale, 2)
    half_df = lax.div(df, two)
    half = lax.clamp(const_like(x, 0), lax.div(lax.sub(x, loc), lax.mul(scale, two)), const_like(x, np.inf))
    return gammaincc(half_df, half)


def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of more than `x`.

    >>> jax.scipy.stats.chi2.logsf(jnp.array([0.5, 2.0]), 3.0)
    """
    return lax.log(sf(x, df, loc, scale))
