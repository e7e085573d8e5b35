"""The uniform distribution on [loc, loc + scale].

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.uniform.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.array_creation import array
from tinytrace.numpy.bits import logical_or
from tinytrace.numpy.classification import isnan
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import select, where


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.uniform.logpdf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("uniform.logpdf", x, loc, scale)
    value = lax.neg(lax.log(scale))
    outside = logical_or(lax.gt(x, lax.add(loc, scale)), lax.lt(x, loc))
    return where(outside, -np.inf, value)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.uniform.pdf(jnp.array([0.5, 2.0]))
    """
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the probability of less than `x`.

    >>> jax.scipy.stats.uniform.cdf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("uniform.cdf", x, loc, scale)
    zero, one = array(0, x.dtype), array(1, x.dtype)
    below, above = lax.lt(x, loc), lax.gt(x, lax.add(loc, scale))
    inside = lax.ge(x, loc) & lax.le(x, lax.add(loc, scale))
    share = lax.div(lax.sub(x, loc), scale)
    return select([below, above, inside], [zero, one, share])


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the value below which lies a share `q` of the distribution.

    >>> jax.scipy.stats.uniform.ppf(jnp.array([0.25, 0.5]))
    """
    q, loc, scale = promote_args_inexact("uniform.ppf", q, loc, scale)
    improper = isnan(q) | (q < 0) | (q > 1)
    return where(improper, np.nan, lax.add(loc, lax.mul(scale, q)))
