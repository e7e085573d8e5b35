"""The Pareto distribution from `loc + scale` on, with exponent `b`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.pareto.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like


def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.pareto.logpdf(jnp.array([1.5, 2.0]), 2.0)
    """
    x, b, loc, scale = promote_args_inexact("pareto.logpdf", x, b, loc, scale)
    one = const_like(x, 1)
    y = lax.div(lax.sub(x, loc), scale)
    normalizer = lax.log(lax.div(scale, b))
    value = lax.neg(lax.add(normalizer, lax.mul(lax.add(b, one), lax.log(y))))
    return where(lax.lt(x, lax.add(loc, scale)), -np.inf, value)


def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.pareto.pdf(jnp.array([1.5, 2.0]), 2.0)
    """
    return lax.exp(logpdf(x, b, loc, scale))
