"""The Dirichlet distribution of vectors that sum to 1, with exponents `alpha - 1`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.dirichlet.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.joining import concatenate
from tinytrace.numpy.promotion import ArrayLike, Value, promote_dtypes_inexact
from tinytrace.numpy.reductions import all, sum
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like
from tinytrace.scipy.entropies import xlogy
from tinytrace.scipy.gamma_functions import gammaln


def logpdf(x: ArrayLike, alpha: ArrayLike) -> Value:
    """Return the logarithm of the density at `x: f32[n, ...]`, of which the last row may be left out.

    Raises: ValueError unless `alpha` is f32[n].

    >>> jax.scipy.stats.dirichlet.logpdf(jnp.array([0.25, 0.75]), jnp.array([1.0, 2.0]))
    Array(0.4054651, dtype=float32)
    """
    x, alpha = promote_dtypes_inexact(x, alpha)
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError("`x` must have either the same number of entries as `alpha` or one entry fewer; got "
                         f"x.shape={x.shape}, alpha.shape={alpha.shape}")
    one = const_like(x, 1)
    if x.shape[0] != alpha.shape[0]:
        x = concatenate([x, lax.sub(one, x.sum(0, keepdims=True))], axis=0)
    normalizer = sum(gammaln(alpha)) - gammaln(sum(alpha))
    if x.ndim > 1:
        alpha = lax.broadcast_in_dim(alpha, alpha.shape + (1,) * (x.ndim - 1), (0,))
    value = lax.sub(sum(xlogy(lax.sub(alpha, one), x), axis=0), normalizer)
    total = sum(x, axis=0)
    in_simplex = all(x > 0, axis=0) & (abs(total - 1) < 1e-6)
    return where(in_simplex, value, -np.inf)


def pdf(x: ArrayLike, alpha: ArrayLike) -> Value:
    """Return the density at `x: f32[n, ...]`.

    >>> jax.scipy.stats.dirichlet.pdf(jnp.array([0.25, 0.75]), jnp.array([1.0, 2.0]))
    Array(1.5, dtype=float32)
    """
    return lax.exp(logpdf(x, alpha))
