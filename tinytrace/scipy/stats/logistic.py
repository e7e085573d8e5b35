"""The logistic distribution around `loc`, of width `scale`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.logistic.html.
"""
from __future__ import annotations

from tinytrace import lax
from tinytrace.numpy.powers import logaddexp
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.entropies import expit, logit


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.logistic.logpdf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("logistic.logpdf", x, loc, scale)
    y = lax.div(lax.sub(x, loc), scale)
    two = const_like(y, 2)
    half = lax.div(y, two)
    return lax.sub(lax.mul(lax.neg(two), logaddexp(half, lax.neg(half))), lax.log(scale))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.logistic.pdf(jnp.array([0.5, 2.0]))
    """
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of less than `x`.

    >>> jax.scipy.stats.logistic.cdf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("logistic.cdf", x, loc, scale)
    return expit(lax.div(lax.sub(x, loc), scale))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of more than `x`.

    >>> jax.scipy.stats.logistic.sf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("logistic.sf", x, loc, scale)
    return expit(lax.neg(lax.div(lax.sub(x, loc), scale)))


def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the value below which lies a share `x` of the distribution.

    >>> jax.scipy.stats.logistic.ppf(jnp.array([0.25, 0.5]))
    """
    x, loc, scale = promote_args_inexact("logistic.ppf", x, loc, scale)
    return lax.add(lax.mul(logit(x), scale), loc)


def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the value above which lies a share `x` of the distribution.

    >>> jax.scipy.stats.logistic.isf(jnp.array([0.25, 0.5]))
    """
    x, loc, scale = promote_args_inexact("logistic.isf", x, loc, scale)
    return lax.add(lax.mul(lax.neg(logit(x)), scale), loc)
