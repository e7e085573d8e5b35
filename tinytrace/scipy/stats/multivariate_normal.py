"""The normal distribution of vectors, with mean f32[..., n] and covariance f32[..., n, n] or f32[].

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.multivariate_normal.html.
"""
from __future__ import annotations

from functools import partial

import numpy as np

from tinytrace import lax
from tinytrace.lax import linalg
from tinytrace.numpy.einsum import einsum
from tinytrace.numpy.exponential import log, square
from tinytrace.numpy.promotion import ArrayLike, Value, promote_dtypes_inexact
from tinytrace.numpy.vectorization import vectorize


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Value:
    """Return the logarithm of the density at `x: f32[..., n]`.

    Raises: ValueError unless `cov` is a square matrix of the size of `mean`.

    >>> jax.scipy.stats.multivariate_normal.logpdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2))
    Array(-1.837877, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    x, mean, cov = promote_dtypes_inexact(x, mean, cov)
    if not mean.shape:
        return -1 / 2 * square(x - mean) / cov - 1 / 2 * (log(2 * np.pi) + log(cov))
    n = mean.shape[-1]
    if not np.shape(cov):
        y = x - mean
        return -1 / 2 * einsum("...i,...i->...", y, y) / cov - n / 2 * (log(2 * np.pi) + log(cov))
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError("multivariate_normal.logpdf got incompatible shapes")
    factor = linalg.cholesky(cov)
    solve = vectorize(partial(linalg.triangular_solve, lower=True, transpose_a=True), signature="(n,n),(n)->(n)")
    y = solve(factor, x - mean)
    return (-1 / 2 * einsum("...i,...i->...", y, y) - n / 2 * log(2 * np.pi)
            - log(factor.diagonal(axis1=-1, axis2=-2)).sum(-1))


def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Value:
    """Return the density at `x: f32[..., n]`.

    >>> jax.scipy.stats.multivariate_normal.pdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2))
    Array(0.15915494, dtype=float32)
    """
    return lax.exp(logpdf(x, mean, cov))
