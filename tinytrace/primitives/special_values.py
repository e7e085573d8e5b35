"""What the special functions mean, in NumPy: formulas that need no tables, in double precision, rounded once.

They are checked against tables and identities in the tests; csrc/math computes the same functions its own, faster way.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

NDArray: TypeAlias = "np.ndarray[Any, Any]"


def _in_float64(function: Callable[..., Any]) -> Callable[..., NDArray]:
    """Compute in double precision, of operands broadcast to one shape, and round the result to their dtype."""

    @functools.wraps(function)
    def wrapped(*args: NDArray) -> NDArray:
        wide = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in args))
        with np.errstate(all="ignore"):
            return np.asarray(function(*wide)).astype(args[0].dtype)

    return wrapped


# --- the error function ----------------------------------------------------------------------------------------

def _erf(x: NDArray) -> NDArray:
    size = np.abs(x)
    return np.copysign(np.where(size < 0.5, _small_erf(size), 1 - _erfc(size)), x)


def _erfc(x: NDArray) -> NDArray:
    """The trapezoidal rule for an integral of a bell curve over a circle (C. Chiarella, A. Reichel, "On the evaluation
    of integrals related to the error function", 1968). With step h its error is exp(-(pi / h)**2)."""
    h, square = 0.5, x * x
    total = 0.5 / square
    for n in range(1, 14):
        total = total + math.exp(-(n * h) ** 2) / ((n * h) ** 2 + square)
    head = x.astype(np.float32).astype(np.float64)  # its square is exact: exp of a rounded x**2 would lose digits
    bell = np.exp(-head * head) * np.exp((head - x) * (head + x))
    positive = 2 * h / math.pi * np.abs(x) * bell * total
    positive = positive + np.where(np.abs(x) < math.pi / h, 2 / (1 - np.exp(2 * math.pi * np.abs(x) / h)), 0)
    positive = np.where(np.abs(x) > 30, 0, positive)
    return np.where(np.abs(x) < 0.5, 1 - _small_erf(x), np.where(x < 0, 2 - positive, positive))


def _small_erf(x: NDArray) -> NDArray:
    """The Maclaurin series, of which 14 terms suffice below 1/2."""
    series, power = np.zeros_like(x), x.copy()
    for n in range(14):
        series = series + power / (2 * n + 1)
        power = power * -x * x / (n + 1)
    return series * 2 / math.sqrt(math.pi)


def _erf_inv(x: NDArray) -> NDArray:
    """A guess that is right to 1/500 (S. Winitzki, 2008), and Halley's method, which triples the digits, three times;
    on erfc for large |x|, where it has more digits than erf."""
    size = np.abs(x)
    log_gap = np.log((1 - size) * (1 + size))
    a = 2 / (math.pi * 0.147) + log_gap / 2
    y = np.sqrt(np.sqrt(a * a - log_gap / 0.147) - a)
    for _ in range(3):
        excess = np.where(size > 0.5, (1 - size) - _erfc(y), _erf(y) - size)
        step = excess * (math.sqrt(math.pi) / 2) * np.exp(y * y)
        y = y - step / (1 + y * step)
    y = np.where(size < 1e-8, size * (math.sqrt(math.pi) / 2), np.where(size == 1, np.inf, y))
    return np.copysign(y, x)


# --- gamma and its logarithmic derivatives ---------------------------------------------------------------------

def _lgamma_of(x: float) -> float:
    if x > 2.556348e305 or x == -math.inf or (x <= 0 and x == math.floor(x)):  # math.lgamma raises where it overflows
        return math.inf
    return math.lgamma(x)


def _lgamma(x: NDArray) -> NDArray:
    return np.asarray(np.frompyfunc(_lgamma_of, 1, 1)(x), np.float64)


def _digamma(x: NDArray) -> NDArray:
    """The recurrence up to x + 8, where the asymptotic series holds; below 1/2 the reflection formula."""
    a = np.where(x < 0.5, 1 - x, x)
    total = np.zeros_like(a)
    for k in range(8):
        total = total - 1 / (a + k)
    y = a + 8
    z = 1 / (y * y)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12))))))
    value = total + np.log(y) - 0.5 / y - series
    fraction = x - np.rint(x)
    value = np.where(x < 0.5, value - math.pi / np.tan(math.pi * fraction), value)
    return np.where((x <= 0) & (fraction == 0), np.nan, value)


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _zeta(x: NDArray, q: NDArray) -> NDArray:
    """Ten terms of the sum, and the Euler-Maclaurin formula for the rest."""
    total = np.zeros_like(x)
    for k in range(10):
        total = total + (q + k) ** -x
    a = q + 10
    power = a ** -x
    total = total + a * power / (x - 1) + power / 2
    factor = x * power / a
    for k, bernoulli in enumerate(_BERNOULLI):
        total = total + bernoulli / math.factorial(2 * k + 2) * factor
        factor = factor * (x + 2 * k + 1) * (x + 2 * k + 2) / (a * a)
    even = (np.rint(x / 2) == x / 2) & (x < np.inf)
    pole = np.where((np.rint(q) == q) & even, np.inf, np.nan)  # of odd order: no limit
    total = np.where((q <= 0) & ~((np.rint(x) == x) & (np.rint(q) != q)), pole, total)
    return np.where(x < 1, np.nan, np.where(x == 1, np.inf, total))


def _polygamma(n: NDArray, x: NDArray) -> NDArray:
    value = np.exp(_lgamma(n + 1)) * _zeta(n + 1, x) * np.where(n % 2 == 0, -1, 1)
    return np.where((n < 0) | (np.rint(n) != n), np.nan, np.where(n == 0, _digamma(x), value))


# --- incomplete gamma ------------------------------------------------------------------------------------------

_ITERATIONS = 2000


def _gamma_series(a: NDArray, x: NDArray) -> tuple[NDArray, NDArray]:
    """The sum of x**n / ((a + 1) ... (a + n)), and its derivative with respect to a."""
    term, slope = np.ones_like(x), np.zeros_like(x)
    total, total_slope = term, slope
    for n in range(1, _ITERATIONS):
        slope = (slope - term / (a + n)) * x / (a + n)
        term = term * x / (a + n)
        total, total_slope = total + term, total_slope + slope
        if np.all((term < 1e-17 * total) & (np.abs(slope) <= 1e-17 * np.abs(total_slope)) | np.isnan(total)):
            break
    return total, total_slope


def _gamma_fraction(a: NDArray, x: NDArray) -> tuple[NDArray, NDArray]:
    """Gamma(a, x) x**-a exp(x) as a continued fraction by Lentz's method, and its logarithmic derivative with respect
    to a, carried along (DLMF 8.9.2)."""
    b = x + 1 - a
    c, c_slope = np.full_like(x, 1e300), np.zeros_like(x)
    d = 1 / b
    d_slope = d * d
    value, log_slope = d, d_slope / d
    for n in range(1, _ITERATIONS):
        numerator, b = -n * (n - a), b + 2
        under = numerator * d + b
        d_slope = -(n * d + numerator * d_slope - 1) / under ** 2
        d = 1 / under
        c_slope = n / c - numerator * c_slope / c ** 2 - 1
        c = b + numerator / c
        value = value * c * d
        change = c_slope / c + d_slope / d
        log_slope = log_slope + change
        if np.all((np.abs(c * d - 1) < 1e-16) & (np.abs(change) < 1e-16 * np.abs(log_slope)) | np.isnan(value)):
            break
    return value, log_slope


def _incomplete_gamma(a: NDArray, x: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """P(a, x), Q(a, x) and dP/da for positive a and finite positive x: a series for small x, a fraction for large."""
    small = (x <= 1) | (x <= a)
    weight = np.exp(a * np.log(x) - x - _lgamma(a))
    total, total_slope = _gamma_series(a, np.where(small, x, 1))
    fraction, log_slope = _gamma_fraction(np.where(small, 1, a), np.where(small, 2, x))
    low, high = weight * total / a, weight * fraction
    low_slope = weight / a * (total_slope + total * (np.log(x) - _digamma(a + 1)))
    high_slope = -high * (np.log(x) - _digamma(a) + log_slope)
    return np.where(small, low, 1 - high), np.where(small, 1 - low, high), np.where(small, low_slope, high_slope)


def _inside(a: NDArray, x: NDArray) -> NDArray:
    return np.asarray((a > 0) & (x > 0) & (x < np.inf))


def _igamma(a: NDArray, x: NDArray) -> NDArray:
    inside = _inside(a, x)
    low, _, _ = _incomplete_gamma(np.where(inside, a, 1), np.where(inside, x, 1))
    edge = np.where((a > 0) & (x == 0), 0, np.where((a > 0) & (x == np.inf), 1, np.nan))
    return np.where(inside, low, edge)


def _igammac(a: NDArray, x: NDArray) -> NDArray:
    inside = _inside(a, x)
    _, high, _ = _incomplete_gamma(np.where(inside, a, 1), np.where(inside, x, 1))
    edge = np.where(np.isnan(a) | np.isnan(x), np.nan, np.where((a > 0) & (x == np.inf), 0, 1))
    return np.where(inside, high, edge)


def _igamma_grad_a(a: NDArray, x: NDArray) -> NDArray:
    inside = _inside(a, x)
    _, _, slope = _incomplete_gamma(np.where(inside, a, 1), np.where(inside, x, 1))
    return np.where(inside, slope, np.where((a > 0) & (x >= 0), 0, np.nan))


def _random_gamma_grad(a: NDArray, x: NDArray) -> NDArray:
    """Minus dP/da by the density, which is dP/dx: how x moves when a does and P stays."""
    density = np.exp((a - 1) * np.log(x) - x - _lgamma(a))
    return np.where(x == 0, 0, -_igamma_grad_a(a, x) / density)


# --- incomplete beta -------------------------------------------------------------------------------------------

def _beta_fraction(a: NDArray, b: NDArray, x: NDArray) -> NDArray:
    """The continued fraction of DLMF 8.17.22 by Lentz's method; two coefficients at a time."""
    c, d = np.ones_like(x), 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 600):
        for numerator in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                          -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + numerator * d)
            c = 1 + numerator / c
            value = value * c * d
        if np.all((np.abs(c * d - 1) < 1e-16) | np.isnan(value)):
            break
    return np.asarray(value)


def _betainc(a: NDArray, b: NDArray, x: NDArray) -> NDArray:
    """The fraction converges fast for small x; for large x, 1 - I(b, a, 1 - x)."""
    inside = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf) & (x > 0) & (x < 1)
    a0, b0, x0 = np.where(inside, a, 1), np.where(inside, b, 1), np.where(inside, x, 0.5)
    fast = x0 < (a0 + 1) / (a0 + b0 + 2)
    p, q, t = np.where(fast, a0, b0), np.where(fast, b0, a0), np.where(fast, x0, 1 - x0)
    log_weight = p * np.log(t) + q * np.log1p(-t) + _lgamma(p + q) - _lgamma(p) - _lgamma(q)
    value = np.exp(log_weight) * _beta_fraction(p, q, t) / p
    edge = np.where((a > 0) & (b > 0) & (x == 0), 0, np.where((a > 0) & (b > 0) & (x == 1), 1, np.nan))
    return np.where(inside, np.where(fast, value, 1 - value), edge)


# --- Bessel functions ------------------------------------------------------------------------------------------

def _bessel_ie(order: int, x: NDArray) -> NDArray:
    """exp(-x) I(x) of x >= 0: up to 50 the mean of exp(x (cos t - 1)) cos(order t) over a circle, which 128 points give
    to all digits; beyond, the asymptotic series (DLMF 10.32.3, 10.40.1)."""
    near = np.zeros_like(x)
    for k in range(128):
        angle = 2 * math.pi * k / 128
        near = near + np.exp(np.minimum(x, 50) * (math.cos(angle) - 1)) * math.cos(order * angle) / 128
    far, term = np.ones_like(x), np.ones_like(x)
    for k in range(1, 16):
        term = term * ((2 * k - 1) ** 2 - 4 * order ** 2) / (8 * k * np.maximum(x, 50))
        far = far + term
    return np.where(x <= 50, near, far / math.sqrt(2 * math.pi) / np.sqrt(np.maximum(x, 50)))


def _bessel_i0e(x: NDArray) -> NDArray:
    return _bessel_ie(0, np.abs(x))


def _bessel_i1e(x: NDArray) -> NDArray:
    """Below 1 the power series (DLMF 10.25.2), for the mean over a circle is a difference of nearly equal numbers."""
    series, term = np.zeros_like(x), x / 2
    for k in range(1, 13):
        series = series + term
        term = term * x * x / (4 * k * (k + 1))
    size = np.abs(x)
    return np.where(size < 1, series * np.exp(-size), np.copysign(_bessel_ie(1, size), x))


erf, erfc, erf_inv = _in_float64(_erf), _in_float64(_erfc), _in_float64(_erf_inv)
lgamma, digamma = _in_float64(_lgamma), _in_float64(_digamma)
polygamma, zeta = _in_float64(_polygamma), _in_float64(_zeta)
igamma, igammac, betainc = _in_float64(_igamma), _in_float64(_igammac), _in_float64(_betainc)
igamma_grad_a, random_gamma_grad = _in_float64(_igamma_grad_a), _in_float64(_random_gamma_grad)
bessel_i0e, bessel_i1e = _in_float64(_bessel_i0e), _in_float64(_bessel_i1e)
