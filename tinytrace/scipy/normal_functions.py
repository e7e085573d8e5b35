"""The error function and the distribution function of the normal distribution, which is the same thing."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import remembered
from tinytrace.core.dtypes import dtype_of
from tinytrace.numpy.array_creation import asarray, full, zeros_like
from tinytrace.numpy.promotion import ArrayLike, Value, promote_args_inexact
from tinytrace.numpy.searching import where
from tinytrace.primitives.elementwise import const_like


@remembered(elementwise=True)
def erf(x: ArrayLike) -> Value:
    """Return the error function.

    >>> jax.scipy.special.erf(jnp.array([0.0, 1.0]))
    Array([0.        , 0.84270084], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.erf.html.
    """
    x, = promote_args_inexact("erf", x)
    return lax.erf(x)


@remembered(elementwise=True)
def erfc(x: ArrayLike) -> Value:
    """Return `1 - erf(x)`, also where it is very small.

    >>> jax.scipy.special.erfc(jnp.array([0.0, 1.0]))
    Array([1.        , 0.15729924], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.erfc.html.
    """
    x, = promote_args_inexact("erfc", x)
    return lax.erfc(x)


@remembered(elementwise=True)
def erfinv(x: ArrayLike) -> Value:
    """Return the inverse of erf, for -1 < x < 1.

    >>> jax.scipy.special.erfinv(jnp.array([0.0, 0.5]))
    Array([0.        , 0.47693628], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.erfinv.html.
    """
    x, = promote_args_inexact("erfinv", x)
    return lax.erf_inv(x)


def _check_float(dtype: Any) -> None:
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={dtype} is not supported, see docstring for supported types.")


@remembered(elementwise=True)
def ndtr(x: ArrayLike) -> Value:
    """Return the distribution function of the standard normal distribution.

    >>> jax.scipy.special.ndtr(jnp.array([0.0, 1.0]))
    Array([0.5      , 0.8413447], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.ndtr.html.
    """
    x = asarray(x)
    _check_float(x.dtype)
    return _ndtr(x)


def _ndtr(x: Value) -> Value:
    number = np.dtype(x.dtype).type
    half_sqrt_2 = number(0.5) * np.sqrt(2.0, dtype=number)
    w = x * half_sqrt_2
    z = lax.abs(w)
    y = lax.select(lax.lt(z, half_sqrt_2), number(1.0) + lax.erf(w),
                   lax.select(lax.gt(w, number(0.0)), number(2.0) - lax.erfc(z), lax.erfc(z)))
    return number(0.5) * y


@remembered()
def ndtri(p: ArrayLike) -> Value:
    """Return the inverse of ndtr: the quantiles of the standard normal distribution.

    >>> jax.scipy.special.ndtri(jnp.array([0.5, 0.9]))
    Array([0.       , 1.2815512], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.ndtri.html.
    """
    _check_float(dtype_of(p))
    return _ndtri(p)


# Coefficients of rational functions, the highest power last. Source: Cephes, ndtri.c.
_NDTRI = [[float(c) for c in reversed(text.split())] for text in (
    "-59.96335010141079 98.00107541859997 -56.67628574690703 13.931260938727968 -1.2391658386738125",
    "1.0 1.9544885833814176 4.676279128988815 86.36024213908905 -225.46268785411937 200.26021238006066"
    " -82.03722561683334 15.90562251262117 -1.1833162112133",
    "4.0554489230596245 31.525109459989388 57.16281922464213 44.08050738932008 14.684956192885803 2.1866330685079025"
    " -0.1402560791713545 -0.03504246268278482 -0.0008574567851546854",
    "1.0 15.779988325646675 45.39076351288792 41.3172038254672 15.04253856929075 2.504649462083094"
    " -0.14218292285478779 -0.03808064076915783 -0.0009332594808954574",
    "3.2377489177694603 6.915228890689842 3.9388102529247444 1.3330346081580755 0.20148538954917908"
    " 0.012371663481782003 0.00030158155350823543 2.6580697468673755e-06 6.239745391849833e-09",
    "1.0 6.02427039364742 3.6798356385616087 1.3770209948908132 0.21623699359449663 0.013420400608854318"
    " 0.00032801446468212774 2.8924786474538068e-06 6.790194080099813e-09")]


def _ndtri(p: Value) -> Value:
    number = np.dtype(dtype_of(p)).type

    def polynomial(x: Value, coefficients: Any) -> Value:
        if not coefficients.size:
            return zeros_like(x)
        return coefficients[0] + polynomial(x, coefficients[1:]) * x

    def ratio(x: Value, i: int) -> Value:
        return polynomial(x, np.array(_NDTRI[i], number)) / polynomial(x, np.array(_NDTRI[i + 1], number))

    shape = np.shape(p)
    upper = where(p > number(-np.expm1(-2.0)), number(1.0) - p, p)
    inner = where(upper == number(0.0), full(shape, number(0.5)), upper)
    w = inner - number(0.5)
    ww = lax.square(w)
    near_half = w + w * ww * ratio(ww, 0)
    near_half = near_half * -number(np.sqrt(2.0 * np.pi))
    z = lax.sqrt(number(-2.0) * lax.log(inner))
    first = z - lax.log(z) / z
    in_tail = polynomial(number(1.0) / z, np.array(_NDTRI[4], number)) / polynomial(
        number(1.0) / z, np.array(_NDTRI[5], number)) / z
    between = polynomial(number(1.0) / z, np.array(_NDTRI[2], number)) / polynomial(
        number(1.0) / z, np.array(_NDTRI[3], number)) / z
    in_tail, between = first - in_tail, first - between
    x = where(inner > number(np.exp(-2.0)), near_half, where(z >= number(8.0), in_tail, between))
    x = where(p > number(1.0 - np.exp(-2.0)), x, -x)
    infinity = full(shape, number(np.inf))
    return where(p == number(0.0), -infinity, where(p == number(1.0), infinity, x))


@partial(custom_jvp, nondiff_argnums=(1,))
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Value:
    """Return the logarithm of ndtr, also far out, where ndtr is zero.

    >>> jax.scipy.special.log_ndtr(jnp.array([0.0, -20.0]))
    Array([  -0.6931472, -203.91716  ], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.log_ndtr.html.
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > 30:
        raise ValueError("series_order must be <= 30.")
    x = asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={np.dtype(x.dtype)} is not supported.")
    lower, upper = np.array([-10, 5] if x.dtype == np.float32 else [-20, 8], x.dtype)
    return where(lax.gt(x, upper), -_ndtr(-x),
                 where(lax.gt(x, lower), lax.log(_ndtr(lax.max(x, lower))),
                       _log_ndtr_lower(lax.min(x, lower), series_order)))


@log_ndtr.defjvp
def _log_ndtr_jvp(series_order: int, primals: Any, tangents: Any) -> tuple[Value, Value]:
    (x,), (t,) = primals, tangents
    out = log_ndtr(x, series_order=series_order)
    return out, lax.mul(t, lax.exp(lax.sub(_norm_logpdf(x), out)))


log_ndtr = remembered("series_order", elementwise=True)(log_ndtr)


def _norm_logpdf(x: Value) -> Value:
    half, normalizer = const_like(x, -0.5), const_like(x, np.log(np.sqrt(2 * np.pi)))
    return lax.sub(lax.mul(half, lax.square(x)), normalizer)


def _log_ndtr_lower(x: Value, series_order: int) -> Value:
    number = np.dtype(x.dtype).type
    log_scale = -number(0.5) * lax.square(x) - lax.log(-x) - number(0.5 * np.log(2.0 * np.pi))
    return log_scale + lax.log(_asymptotic_series(x, series_order))


def _asymptotic_series(x: Value, series_order: int) -> Any:
    number = np.dtype(x.dtype).type
    if series_order <= 0:
        return np.array(1, number)
    x_2 = lax.square(x)
    even, odd, power = zeros_like(x), zeros_like(x), x_2
    for n in range(1, series_order + 1):
        y = np.array(np.prod(np.arange(2 * n - 1, 1, -2)), number) / power
        if n % 2:
            odd = odd + y
        else:
            even = even + y
        power = power * x_2
    return number(1.0) + even - odd
