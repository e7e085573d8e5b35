"""Associated Legendre functions of all orders and degrees up to one, by recurrence, and spherical harmonics.

Source: Holmes and Featherstone, "A unified approach to the Clenshaw summation and the recursive computation of very
high degree and order normalised associated Legendre functions" (2002).
"""
from __future__ import annotations

from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.dtypes import dtype_of
from tinytrace.extend.language import concrete_or_error
from tinytrace.numpy.promotion import Value

__all__ = ["lpmn", "lpmn_values", "sph_harm"]


def lpmn(m: int, n: int, z: Any) -> tuple[Value, Value]:
    """Return the associated Legendre functions of orders 0 to m and degrees 0 to n at z: f32[k], and derivatives.

    Each is f32[m + 1, n + 1, k].
    Raises: TypeError for other types than floats, ValueError unless z has one axis, NotImplementedError unless m is n.
    See https://docs.scipy.org/doc/scipy-1.14.0/reference/generated/scipy.special.lpmn.html.

    >>> jax.scipy.special.lpmn(1, 1, jnp.array([0.5]))[0][0, :, 0]
    Array([1. , 0.5], dtype=float32)
    """
    degree = _checked(m, n, z)
    values = _legendre(degree, z, False)
    return values, _derivatives(values, z)


def lpmn_values(m: int, n: int, z: Any, is_normalized: bool) -> Value:
    """Return the functions of `lpmn` alone; is_normalized: as spherical harmonics have them.

    >>> jax.scipy.special.lpmn_values(1, 1, jnp.array([0.5]), False)[0, :, 0]
    Array([1. , 0.5], dtype=float32)
    """
    return _legendre(_checked(m, n, z), z, is_normalized)


def sph_harm(m: Any, n: Any, theta: Any, phi: Any, n_max: int | None = None) -> Value:
    """Return the spherical harmonics c64[k] of orders m and degrees n, |m| <= n: i32[k].

    theta: the azimuth, phi: the angle from the pole, f32[k].  n_max: the largest degree, to be given inside of jit.
    See https://docs.scipy.org/doc/scipy-1.14.0/reference/generated/scipy.special.sph_harm.html.

    >>> jax.scipy.special.sph_harm(jnp.array([0]), jnp.array([1]), jnp.array([0.3]), jnp.array([0.0])).real.round(4)
    Array([0.4886], dtype=float32)
    """
    if jnp.isscalar(phi):
        phi = jnp.array([phi])
    if n_max is None:
        n_max = np.max(n)
    degree = concrete_or_error(int, n_max, "The `n_max` argument of `jnp.scipy.special.sph_harm` must be statically "
                                           "specified to use `sph_harm` within JAX transformations.")
    return _harmonics(m, n, theta, phi, degree)


@library_jit(static_argnums=(4,))
def _harmonics(m: Any, n: Any, theta: Any, phi: Any, degree: int) -> Value:
    values = _legendre(degree, jnp.cos(phi), True)
    value = values.at[abs(m), n, jnp.arange(len(n))].get(mode="clip")
    angle = abs(m) * theta
    turn = lax.complex(jnp.cos(angle), jnp.sin(angle))
    harmonics = lax.complex(value * jnp.real(turn), value * jnp.imag(turn))
    return jnp.where(m < 0, (-1.0)**abs(m) * jnp.conjugate(harmonics), harmonics)


def _checked(m: int, n: int, z: Any) -> int:
    dtype = dtype_of(z)
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"z.dtype={dtype} is not supported, see docstring for supported types.")
    if z.ndim != 1:
        raise ValueError("z must be a 1D array.")
    m = concrete_or_error(int, m, "Argument m of lpmn.")
    n = concrete_or_error(int, n, "Argument n of lpmn.")
    if m != n:
        raise NotImplementedError("Computations for m!=n are not yet supported.")
    return n


@library_jit(static_argnums=(0, 2))
def _legendre(degree: int, x: Any, is_normalized: bool) -> Value:
    p = jnp.zeros((degree + 1, degree + 1, x.shape[0]), dtype=x.dtype)
    a = jnp.arange(1, degree + 1, dtype=x.dtype)
    b = jnp.arange(degree, dtype=x.dtype)
    first: Any = 1.0
    if is_normalized:
        first = 0.5 / jnp.sqrt(jnp.pi)
        factors, next_factors = jnp.cumprod(-1 * jnp.sqrt(1.0 + 0.5 / a)), jnp.sqrt(2.0 * b + 3.0)
    else:
        factors, next_factors = jnp.cumprod(1.0 - 2.0 * a), 2.0 * b + 1.0
    p = p.at[0, 0].set(first)
    y = jnp.cumprod(jnp.broadcast_to(jnp.sqrt(1.0 - x * x), (degree, x.shape[0])), axis=0)
    at = jnp.diag_indices(degree + 1)
    p = p.at[at[0][1:], at[1][1:]].set(first * jnp.einsum("i,ij->ij", factors, y))
    beside = jnp.einsum("ij,ij->ij", jnp.einsum("i,j->ij", next_factors, x), p[jnp.diag_indices(degree)])
    p = p.at[at[0][:degree], at[1][:degree] + 1].set(beside)
    one_less, two_less = _recurrence(degree, is_normalized, x.dtype)

    def next_diagonal(i: Any, p: Any) -> Any:
        h = jnp.einsum("ij,ijk->ijk", one_less[i], jnp.einsum("ijk,k->ijk", jnp.roll(p, shift=1, axis=1), x))
        return p + (h - jnp.einsum("ij,ijk->ijk", two_less[i], jnp.roll(p, shift=2, axis=1)))

    p = p.astype(jnp.result_type(p, x, one_less))
    return lax.fori_loop(2, degree + 1, next_diagonal, p) if degree > 1 else p


def _recurrence(degree: int, is_normalized: bool, dtype: Any) -> tuple[Value, Value]:
    """Return the coefficients of the degrees one less and two less, for each diagonal of (order, degree)."""
    m, n = jnp.meshgrid(jnp.arange(degree + 1, dtype=dtype), jnp.arange(degree + 1, dtype=dtype), indexing="ij")
    if is_normalized:
        square, order = n * n, m * m
        twice, before = 2.0 * n, (n - 1.0) * (n - 1.0)
        one = jnp.sqrt((4.0 * square - 1.0) / (square - order))
        two = jnp.sqrt((twice + 1.0) * (before - order) / ((twice - 3.0) * (square - order)))
    else:
        one = (2.0 * n - 1.0) / (n - m)
        two = (n + m - 1.0) / (n - m)
    zeros = jnp.zeros((degree + 1, degree + 1), dtype=dtype)
    above, further = jnp.triu_indices(degree + 1, 1), jnp.triu_indices(degree + 1, 2)
    i, j, k = jnp.ogrid[:degree + 1, :degree + 1, :degree + 1]
    diagonal = (i + j - k == 0).astype(dtype)
    return (jnp.einsum("jk,ijk->ijk", zeros.at[above].set(one[above]), diagonal),
            jnp.einsum("jk,ijk->ijk", zeros.at[further].set(two[further]), diagonal))


@library_jit()
def _derivatives(p: Any, x: Any) -> Value:
    """Return the derivatives, made of the functions of the degree one less and of orders beside."""
    orders, degrees, _ = p.shape
    less = jnp.pad(p, ((0, 0), (1, 0), (0, 0)))[:, :degrees, :]
    two_more = jnp.pad(less, ((0, 2), (0, 0), (0, 0)))[2:orders + 2, :, :]
    two_less = jnp.pad(less, ((2, 0), (0, 0), (0, 0)))[:orders, :, :]
    if degrees > 1:  # of negative orders: multiples of those of positive ones
        n = jnp.arange(1, degrees - 1, dtype=x.dtype)
        two_less = two_less.at[1, 2:degrees, :].set(
            jnp.einsum("i,ij->ij", -1.0 / ((n + 1) * n), p[1, 1:degrees - 1, :]))
    if degrees > 2:
        n = jnp.arange(2, degrees - 1, dtype=x.dtype)
        two_less = two_less.at[0, 3:degrees, :].set(
            jnp.einsum("i,ij->ij", 1.0 / ((n + 2) * (n + 1) * n * (n - 1)), p[2, 2:degrees - 1, :]))
    m, n = jnp.meshgrid(jnp.arange(orders, dtype=x.dtype), jnp.arange(degrees, dtype=x.dtype), indexing="ij")
    zeros, upper = jnp.zeros((orders, degrees), dtype=x.dtype), jnp.triu_indices(orders, 0, degrees)

    def masked(coefficients: Any, without_first: bool = False) -> Any:
        found = zeros.at[upper].set(coefficients[upper])
        return found.at[1, :].set(0) if without_first else found

    a, both = -0.5 / (m - 1.0), n + m
    down = (jnp.einsum("ij,ijk->ijk", masked(a, True), less)
            + jnp.einsum("ij,ijk->ijk", masked(a * (both - 2.0) * (both - 1.0), True), two_less))
    d = masked(-0.5 / (m + 1.0))
    up = (jnp.einsum("ij,ijk->ijk", d, two_more)
          + jnp.einsum("ij,ijk->ijk", masked(d * both * (both + 1.0)), less))
    found = jnp.einsum("ij,ijk->ijk", masked(both * (n - m + 1.0) / 2.0), down) - 0.5 * up
    if orders > 1:
        l = jnp.arange(degrees, dtype=p.dtype)  # noqa: E741
        first = jnp.einsum("i,ij->ij", (l + 1) * l, p[0, :, :])
        if degrees > 2:
            first = first - p[2, :, :]
        found = found.at[1, :, :].set(jnp.einsum("j,ij->ij", 0.5 / jnp.sqrt(1 - x * x), first))
        found = found.at[1, 0, :].set(0)
    return found
