"""The Cauchy distribution around `loc`, of width `scale`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.cauchy.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.trigonometric import arctan
from tinytrace.primitives.elementwise import const_like


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.cauchy.logpdf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("cauchy.logpdf", x, loc, scale)
    pi = const_like(x, np.pi)
    y = lax.div(lax.sub(x, loc), scale)
    normalizer = lax.log(lax.mul(pi, scale))
    return lax.neg(lax.add(normalizer, lax.log1p(lax.mul(y, y))))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.cauchy.pdf(jnp.array([0.5, 2.0]))
    """
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of less than `x`.

    >>> jax.scipy.stats.cauchy.cdf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("cauchy.cdf", x, loc, scale)
    pi = const_like(x, np.pi)
    y = lax.div(lax.sub(x, loc), scale)
    return lax.add(const_like(x, 0.5), lax.mul(lax.div(const_like(x, 1.0), pi), arctan(y)))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of less than `x`.

    >>> jax.scipy.stats.cauchy.logcdf(jnp.array([0.5, 2.0]))
    """
    return lax.log(cdf(x, loc, scale))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of more than `x`.

    >>> jax.scipy.stats.cauchy.sf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("cauchy.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the probability of more than `x`.

    >>> jax.scipy.stats.cauchy.logsf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("cauchy.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the value below which lies a share `q` of the distribution.

    >>> jax.scipy.stats.cauchy.ppf(jnp.array([0.25, 0.5]))
    """
    q, loc, scale = promote_args_inexact("cauchy.ppf", q, loc, scale)
    pi, half_pi = const_like(q, np.pi), const_like(q, np.pi / 2)
    y = lax.tan(lax.sub(lax.mul(pi, q), half_pi))
    return lax.add(lax.mul(y, scale), loc)


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the value above which lies a share `q` of the distribution.

    >>> jax.scipy.stats.cauchy.isf(jnp.array([0.25, 0.5]))
    """
    q, loc, scale = promote_args_inexact("cauchy.isf", q, loc, scale)
    pi, half_pi = const_like(q, np.pi), const_like(q, np.pi / 2)
    y = lax.tan(lax.sub(half_pi, lax.mul(pi, q)))
    return lax.add(lax.mul(y, scale), loc)
