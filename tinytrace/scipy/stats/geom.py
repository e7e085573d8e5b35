"""The geometric distribution: how many trials it takes to succeed once, each with probability `p`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.geom.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.exponential import exp
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.entropies import xlog1py


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the logarithm of the probability of `k`.

    >>> jax.scipy.stats.geom.logpmf(jnp.array([0.0, 1.0]), 0.3)
    """
    k, p, loc = promote_args_inexact("geom.logpmf", k, p, loc)
    zero, one = const_like(k, 0), const_like(k, 1)
    x = lax.sub(k, loc)
    value = xlog1py(lax.sub(x, one), -p) + lax.log(p)
    return where(lax.le(x, zero), -np.inf, value)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Value:
    """Return the probability of `k`.

    >>> jax.scipy.stats.geom.pmf(jnp.array([0.0, 1.0]), 0.3)
    """
    return exp(logpmf(k, p, loc))
