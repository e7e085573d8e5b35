"""The multinomial distribution: how often each of several outcomes with probabilities `p` occurs in `n` trials.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.multinomial.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.core.dtypes import is_integer
from tinytrace.numpy.comparison import equal
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact, promote_args_numeric
from tinytrace.numpy.reductions import sum
from tinytrace.numpy.searching import where
from tinytrace.scipy.entropies import xlogy
from tinytrace.scipy.gamma_functions import gammaln


def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Value:
    """Return the logarithm of the probability of the counts `x: i32[..., k]`.

    Raises: ValueError unless counts are integers.

    >>> jax.scipy.stats.multinomial.logpmf(jnp.array([1, 2]), 3, jnp.array([0.5, 0.5]))
    """
    p, = promote_args_inexact("multinomial.logpmf", p)
    x, n = promote_args_numeric("multinomial.logpmf", x, n)
    if not is_integer(x.dtype):
        raise ValueError(f"x and n must be of integer type; got x.dtype={x.dtype}, n.dtype={n.dtype}")
    x, n = x.astype(p.dtype), n.astype(p.dtype)
    value = gammaln(n + 1) + sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
    return where(equal(sum(x), n), value, -np.inf)


def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Value:
    """Return the probability of the counts `x: i32[..., k]`.

    >>> jax.scipy.stats.multinomial.pmf(jnp.array([1, 2]), 3, jnp.array([0.5, 0.5]))
    """
    return lax.exp(logpmf(x, n, p))
