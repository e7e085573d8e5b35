"""The generalized normal distribution: its density is proportional to `exp(-abs(x) ** beta)`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.gennorm.html.
"""
from __future__ import annotations

from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact


def logpdf(x: ArrayLike, beta: ArrayLike) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.gennorm.logpdf(jnp.array([0.5, 2.0]), 1.5)
    """
    x, beta = promote_args_inexact("gennorm.logpdf", x, beta)
    return lax.log(0.5 * beta) - lax.lgamma(1 / beta) - lax.abs(x) ** beta


def pdf(x: ArrayLike, beta: ArrayLike) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.gennorm.pdf(jnp.array([0.5, 2.0]), 1.5)
    """
    return lax.exp(logpdf(x, beta))


def cdf(x: ArrayLike, beta: ArrayLike) -> Value:
    """Return the probability of less than `x`.

    >>> jax.scipy.stats.gennorm.cdf(jnp.array([0.5, 2.0]), 1.5)
    """
    x, beta = promote_args_inexact("gennorm.cdf", x, beta)
    return 0.5 * (1 + lax.sign(x) * lax.igamma(1 / beta, lax.abs(x) ** beta))
