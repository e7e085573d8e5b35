"""`jax.scipy.integrate`: the trapezoidal rule."""
from __future__ import annotations

from tinytrace import numpy as jnp
from tinytrace.api.library import library_jit
from tinytrace.numpy.promotion import ArrayLike, Value
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)


@library_jit("axis")
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Value:
    """Return the integral of `y` along an axis by the trapezoidal rule, at the points `x` or at distances `dx`.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.integrate.trapezoid.html.

    >>> jax.scipy.integrate.trapezoid(jnp.array([1, 2, 3]))
    Array(4., dtype=float32)
    """
    return jnp.trapezoid(y, x, dx, axis)


__all__ = ["trapezoid"]
