"""The von Mises distribution of angles around 0, with concentration `kappa`.

See https://docs.scipy.org/doc/scipy/reference/generated/scipy.stats.vonmises.html.
"""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.numpy.exponential import log
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.numpy.trigonometric import cos
from tinytrace.primitives.elementwise import const_like


def logpdf(x: ArrayLike, kappa: ArrayLike) -> Value:
    """Return the logarithm of the density at `x`.

    >>> jax.scipy.stats.vonmises.logpdf(jnp.array([0.5, 2.0]), 1.5)
    """
    x, kappa = promote_args_inexact("vonmises.logpdf", x, kappa)
    proper = lax.gt(kappa, const_like(kappa, 0))
    return where(proper, kappa * (cos(x) - 1) - log(2 * np.pi * lax.bessel_i0e(kappa)), np.nan)


def pdf(x: ArrayLike, kappa: ArrayLike) -> Value:
    """Return the density at `x`.

    >>> jax.scipy.stats.vonmises.pdf(jnp.array([0.5, 2.0]), 1.5)
    """
    return lax.exp(logpdf(x, kappa))
