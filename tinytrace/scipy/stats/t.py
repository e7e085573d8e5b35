"""Student's t distribution with `df` degrees of freedom, around `loc`, of width `scale`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.t.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.primitives.elementwise import const_like


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.t.logpdf(jnp.array([0.5, 2.0]), 3.0)
    """
    x, df, loc, scale = promote_args_inexact("t.logpdf", x, df, loc, scale)
    two = const_like(x, 2)
    y = lax.div(lax.sub(x, loc), scale)
    half_df = lax.div(df, two)
    half_more = lax.add(half_df, const_like(x, 0.5))
    spread = lax.mul(lax.mul(scale, scale), const_like(x, np.pi))
    log_root = lax.div(lax.log(lax.mul(spread, df)), two)
    normalizer = lax.sub(lax.add(lax.lgamma(half_df), log_root), lax.lgamma(half_more))
    square = lax.div(lax.mul(y, y), df)
    return lax.neg(lax.add(normalizer, lax.mul(half_more, lax.log1p(square))))


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.t.pdf(jnp.array([0.5, 2.0]), 3.0)
    """
    return lax.exp(logpdf(x, df, loc, scale))
