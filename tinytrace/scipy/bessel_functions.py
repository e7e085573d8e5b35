"""Bessel functions of the first kind, by recurrence from high orders down.

Source: Shanjie Zhang and Jian-Ming Jin, "Computation of Special Functions" (1996), section 5.2.
"""
from __future__ import annotations

import operator
from functools import partial
from typing import Any

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.api.vmapping import vmap
from tinytrace.core.dtypes import COMPLEX128, dtype_of
from tinytrace.extend.language import concrete_or_error
from tinytrace.numpy.promotion import ArrayLike, Value, promote_dtypes_inexact
from tinytrace.primitives.elementwise import const_like

__all__ = ["bessel_jn"]


@library_jit("v", "n_iter")
def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Value:
    """Return the Bessel functions of orders 0 to v at z: f32[v + 1, ...].

    n_iter: the order at which the recurrence starts, which should be larger than v and the largest z; where it is much
    larger than z, float32 overflows, and the result is NaN.
    Raises: ValueError for complex128, TypeError for complex64.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.jv.html.

    >>> jax.scipy.special.bessel_jn(jnp.array([1.0]), v=1, n_iter=15).round(4)
    Array([[0.7652],
           [0.4401]], dtype=float32)
    """
    z, = promote_dtypes_inexact(jnp.asarray(z))
    if z.dtype == COMPLEX128:  # the recurrence refuses narrower ones, as in JAX
        raise ValueError("complex input not supported.")
    v = concrete_or_error(operator.index, v, "Argument v of bessel_jn.")
    count = concrete_or_error(int, n_iter, "Argument n_iter of bessel_jn.")
    function: Any = partial(_of_number, v=v, count=count)
    for _ in range(z.ndim):
        function = vmap(function)
    return jnp.moveaxis(function(z), -1, 0)


def _of_number(z: Any, v: int, count: int) -> Any:
    zero = const_like(z, 0.0)
    (_, _, total, _), values = lax.scan(_turn, (zero, const_like(z, 1e-16), zero, z),
                                        lax.iota(dtype_of(z), count + 1), reverse=True)
    first = values[0]
    values = values[:v + 1]
    return values / (total - first)


def _turn(carry: Any, k: Any) -> Any:
    """Go from orders k + 2 and k + 1 to k; the sum of even ones is to become 1."""
    before, last, total, z = carry
    value = 2.0 * (k + 1.0) * last / z - before
    total = lax.cond(jnp.mod(k, 2) == 0, lambda u: u[0] + 2.0 * u[1], lambda u: u[0], (total, value))
    return (last, value, total, z), value
