"""The normal distribution between `loc + scale * a` and `loc + scale * b`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.truncnorm.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.array_creation import array, ones_like
from tinytrace.numpy.exponential import exp, log1p
from tinytrace.numpy.promotion import ArrayLike, Value, broadcast_arrays, promote_args_inexact
from tinytrace.numpy.searching import select, where
from tinytrace.scipy.log_sums import logsumexp
from tinytrace.scipy.normal_functions import log_ndtr, ndtr
from tinytrace.scipy.stats import norm


def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.truncnorm.logpdf(jnp.array([0.5, 2.0]), -1.0, 1.0)
    """
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logpdf", x, a, b, loc, scale)
    value = lax.sub(norm.logpdf(x, loc, scale), _log_mass(a, b))
    y = lax.div(lax.sub(x, loc), scale)
    value = where((y < a) | (y > b), -np.inf, value)
    return where(a >= b, np.nan, value)


def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.truncnorm.pdf(jnp.array([0.5, 2.0]), -1.0, 1.0)
    """
    return lax.exp(logpdf(x, a, b, loc, scale))


def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of less than `x`.

    >>> jax.scipy.stats.truncnorm.logcdf(jnp.array([0.5, 2.0]), -1.0, 1.0)
    """
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logcdf", x, a, b, loc, scale)
    x, a, b = broadcast_arrays(x, a, b)
    x = lax.div(lax.sub(x, loc), scale)
    below = _log_mass(a, x) - _log_mass(a, b)
    above = _log_mass(x, b) - _log_mass(a, b)
    beyond, before, near_one, inside = x >= b, x <= a, below > -0.1, x > a
    value = select([beyond, before, near_one, inside], [0, -np.inf, log1p(-exp(above)), below])
    return where(a >= b, np.nan, value)


def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of less than `x`.

    >>> jax.scipy.stats.truncnorm.cdf(jnp.array([0.5, 2.0]), -1.0, 1.0)
    """
    return lax.exp(logcdf(x, a, b, loc, scale))


def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of more than `x`.

    >>> jax.scipy.stats.truncnorm.logsf(jnp.array([0.5, 2.0]), -1.0, 1.0)
    """
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logsf", x, a, b, loc, scale)
    return logcdf(-x, -b, -a, -loc, scale)


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of more than `x`.

    >>> jax.scipy.stats.truncnorm.sf(jnp.array([0.5, 2.0]), -1.0, 1.0)
    """
    return lax.exp(logsf(x, a, b, loc, scale))


def _log_mass(a: Value, b: Value) -> Value:
    """Return the logarithm of the probability of [a, b] under the normal distribution, from where it is small."""
    a, b = array(a), array(b)
    a, b = broadcast_arrays(a, b)
    is_left, is_right = b <= 0, a > 0
    is_central = ~(is_left | is_right)
    left = _log_difference(log_ndtr(b), log_ndtr(a))
    minus_b, minus_a = -b, -a
    right = _log_difference(log_ndtr(minus_a), log_ndtr(minus_b))
    return select([is_left, is_right, is_central], [left, right, log1p(-ndtr(a) - ndtr(-b))])


def _log_difference(x: Value, y: Value) -> Value:
    return logsumexp(array([x, y]), b=array([ones_like(x), -ones_like(y)]), axis=0)
