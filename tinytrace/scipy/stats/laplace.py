"""The Laplace distribution around `loc`, of width `scale`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.laplace.html.
"""
from __future__ import annotations

from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.primitives.elementwise import const_like


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.laplace.logpdf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("laplace.logpdf", x, loc, scale)
    two = const_like(x, 2)
    distance = lax.div(lax.abs(lax.sub(x, loc)), scale)
    return lax.neg(lax.add(distance, lax.log(lax.mul(two, scale))))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.laplace.pdf(jnp.array([0.5, 2.0]))
    """
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of less than `x`.

    >>> jax.scipy.stats.laplace.cdf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("laplace.cdf", x, loc, scale)
    half, one, zero = const_like(x, 0.5), const_like(x, 1), const_like(x, 0)
    y = lax.div(lax.sub(x, loc), scale)
    is_left = lax.le(y, zero)
    left, right = lax.mul(half, lax.exp(y)), lax.sub(one, lax.mul(half, lax.exp(lax.neg(y))))
    return lax.select(is_left, left, right)
