"""The Cauchy distribution wrapped around the circle [0, 2 pi], with parameter 0 < c < 1.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.wrapcauchy.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.exponential import log
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.numpy.trigonometric import cos
from tinytrace.primitives.elementwise import const_like


def logpdf(x: ArrayLike, c: ArrayLike) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.wrapcauchy.logpdf(jnp.array([0.5, 2.0]), 0.5)
    """
    x, c = promote_args_inexact("wrapcauchy.logpdf", x, c)
    proper = lax.gt(c, const_like(c, 0)) & lax.lt(c, const_like(c, 1))
    inside = lax.ge(x, const_like(x, 0)) & lax.le(x, const_like(x, np.pi * 2))
    value = log(1 - c * c) - log(2 * np.pi) - log(1 + c * c - 2 * c * cos(x))
    return where(proper, where(inside, value, -np.inf), np.nan)


def pdf(x: ArrayLike, c: ArrayLike) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.wrapcauchy.pdf(jnp.array([0.5, 2.0]), 0.5)
    """
    return lax.exp(logpdf(x, c))
