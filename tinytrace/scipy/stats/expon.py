"""The exponential distribution from `loc` on, with mean `loc + scale`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.expon.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.expon.logpdf(jnp.array([0.5, 2.0]))
    """
    x, loc, scale = promote_args_inexact("expon.logpdf", x, loc, scale)
    log_scale = lax.log(scale)
    y = lax.div(lax.sub(x, loc), scale)
    value = lax.neg(lax.add(y, log_scale))
    return where(lax.lt(x, loc), -np.inf, value)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.expon.pdf(jnp.array([0.5, 2.0]))
    """
    return lax.exp(logpdf(x, loc, scale))
