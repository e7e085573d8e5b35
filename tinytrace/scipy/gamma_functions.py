"""The gamma function and its family: logarithms, derivatives, incomplete ones, beta, zeta, Bessel functions."""
from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.autodiff import jvp
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import remembered
from tinytrace.numpy.comparison import maximum, minimum
from tinytrace.numpy.cumulative import cumprod
from tinytrace.numpy.promotion import ArrayLike, Value, concrete, promote_args_inexact
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.reductions import sum
from tinytrace.numpy.scalar_types import finfo
from tinytrace.numpy.searching import clip, where
from tinytrace.numpy.shapes import expand_dims
from tinytrace.primitives.elementwise import const_like


@remembered(elementwise=True)
def gammaln(x: ArrayLike) -> Value:
    """Return the logarithm of the size of the gamma function, for f32[...].

    >>> jax.scipy.special.gammaln(jnp.array([3.0, 4.0]))
    Array([0.6931474, 1.7917603], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.gammaln.html.
    """
    x, = promote_args_inexact("gammaln", x)
    return lax.lgamma(x)


@remembered()
def gammasgn(x: ArrayLike) -> Value:
    """Return the sign of the gamma function.

    >>> jax.scipy.special.gammasgn(jnp.array([0.5, -0.5]))
    Array([ 1., -1.], dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.gammasgn.html.
    """
    x, = promote_args_inexact("gammasgn", x)
    floor = lax.floor(x)
    return where((x > 0) | (x == floor) | (floor % 2 == 0), 1.0, -1.0)


@remembered()
def gamma(x: ArrayLike) -> Value:
    """Return the gamma function: (x - 1)! for whole numbers.

    >>> jax.scipy.special.gamma(jnp.array([1.0, 5.0]))
    Array([ 1.0000005, 24.000023 ], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.gamma.html.
    """
    x, = promote_args_inexact("gamma", x)
    return gammasgn(x) * lax.exp(lax.lgamma(x))


@remembered("exact")
def factorial(n: ArrayLike, exact: bool = False) -> Value:
    """Return n!, as a float.

    >>> jax.scipy.special.factorial(5)
    Array(120.00012, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.factorial.html.
    """
    if exact:
        raise NotImplementedError("factorial with exact=True")
    n, = promote_args_inexact("factorial", n)
    return where(n < 0, 0, lax.exp(lax.lgamma(n + 1)))


@remembered("d")
def multigammaln(a: ArrayLike, d: ArrayLike) -> Value:
    """Return the logarithm of the gamma function of d dimensions.

    >>> jax.scipy.special.multigammaln(3.0, 1)
    Array(0.6931474, dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.multigammaln.html.
    """
    dims = int(concrete(d, "d argument of multigammaln"))
    a, d_ = promote_args_inexact("multigammaln", a, dims)
    constant = lax.mul(lax.mul(lax.mul(const_like(a, 0.25), d_), lax.sub(d_, const_like(a, 1))),
                       lax.log(const_like(a, np.pi)))
    halves = lax.div(arange(dims, dtype=d_.dtype), const_like(a, 2))
    terms = gammaln(expand_dims(a, axis=-1) - expand_dims(halves, axis=tuple(range(a.ndim))))
    return sum(terms, axis=-1) + constant


@remembered(elementwise=True)
def digamma(x: ArrayLike) -> Value:
    """Return the derivative of gammaln.

    >>> jax.scipy.special.digamma(1.0)
    Array(-0.5772154, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.digamma.html.
    """
    x, = promote_args_inexact("digamma", x)
    return lax.digamma(x)


@remembered(elementwise=True)
def polygamma(n: ArrayLike, x: ArrayLike) -> Value:
    """Return the derivative of order `n` of digamma.

    >>> jax.scipy.special.polygamma(1, 1.0)
    Array(1.644934, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.polygamma.html.
    """
    n, x = promote_args_inexact("polygamma", n, x)
    return lax.polygamma(n, x)


@remembered(elementwise=True)
def gammainc(a: ArrayLike, x: ArrayLike) -> Value:
    """Return the lower incomplete gamma function, regularized: 0 at 0, 1 far out.

    >>> jax.scipy.special.gammainc(1.0, 2.0)
    Array(0.8646648, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.gammainc.html.
    """
    a, x = promote_args_inexact("gammainc", a, x)
    return lax.igamma(a, x)


@remembered(elementwise=True)
def gammaincc(a: ArrayLike, x: ArrayLike) -> Value:
    """Return the upper incomplete gamma function, regularized: `1 - gammainc(a, x)`.

    >>> jax.scipy.special.gammaincc(1.0, 2.0)
    Array(0.13533522, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.gammaincc.html.
    """
    a, x = promote_args_inexact("gammaincc", a, x)
    return lax.igammac(a, x)


# --- beta ------------------------------------------------------------------------------------------------------

def beta(*args: ArrayLike, **kwds: ArrayLike) -> Value:
    """Return the beta function `gamma(a) gamma(b) / gamma(a + b)`.

    `x` and `y` are the old names of `a` and `b`, and are warned of.

    Raises: TypeError for arguments that are given twice, or are none of these.

    >>> jax.scipy.special.beta(1.0, 2.0)
    Array(0.5000001, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.beta.html.
    """
    for old, new in (("x", "a"), ("y", "b")):
        if old in kwds:
            warnings.warn(f"The `{old}` parameter of jax.scipy.special.beta is deprecated, use `{new}` instead.",
                          DeprecationWarning, stacklevel=2)
            if new in kwds:
                raise TypeError(f"beta() got both parameter '{new}' and parameter '{old}'.")
            kwds[new] = kwds.pop(old)
    if extra := kwds.keys() - {"a", "b"}:
        raise TypeError(f"beta() got unexpected keyword arguments {list(extra)}")
    return _beta(*args, **kwds)


@remembered()
def _beta(a: ArrayLike, b: ArrayLike) -> Value:
    a, b = promote_args_inexact("beta", a, b)
    sign = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    return sign * lax.exp(betaln(a, b))


@remembered()
def betaln(a: ArrayLike, b: ArrayLike) -> Value:
    """Return the logarithm of the size of the beta function.

    >>> jax.scipy.special.betaln(1.0, 2.0)
    Array(-0.69314694, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.betaln.html.
    """
    a, b = promote_args_inexact("betaln", a, b)
    small, large = minimum(a, b), maximum(a, b)
    of_small = lax.lgamma(small) + (lax.lgamma(large) - lax.lgamma(small + large))
    of_large = lax.lgamma(small) + _log_gamma_ratio(small, large)
    return where(large < 8, of_small, of_large)


def _log_gamma_ratio(a: Value, b: Value) -> Value:
    """Return log(gamma(b) / gamma(a + b)) for b >= 8. Source: DiDonato and Morris 1992, algorithm 708, ALGDIV."""
    h = a / b
    c = h / (1 + h)
    x = h / (1 + h)
    d = b + (a - 0.5)
    x2 = x * x
    s3 = 1.0 + (x + x2)
    s5 = 1.0 + (x + x2 * s3)
    s7 = 1.0 + (x + x2 * s5)
    s9 = 1.0 + (x + x2 * s7)
    s11 = 1.0 + (x + x2 * s9)
    t = (1.0 / b) ** 2
    w = ((((_STIRLING[5] * s11 * t + _STIRLING[4] * s9) * t + _STIRLING[3] * s7) * t + _STIRLING[2] * s5) * t
         + _STIRLING[1] * s3) * t + _STIRLING[0]
    w = w * (c / b)
    u = d * lax.log1p(a / b)
    v = a * (lax.log(b) - 1.0)
    return where(u <= v, w - v - u, w - u - v)


_STIRLING = (0.0833333333333333, -0.00277777777760991, 0.00079365066682539, -0.00059520293135187, 0.000837308034031215,
             -0.00165322962780713)


@remembered(elementwise=True)
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Value:
    """Return the incomplete beta function, regularized: 0 at 0 and 1 at 1.

    >>> jax.scipy.special.betainc(1.0, 2.0, 0.5)
    Array(0.75000006, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.betainc.html.
    """
    a, b, x = promote_args_inexact("betainc", a, b, x)
    return lax.betainc(a, b, x)


# --- zeta ------------------------------------------------------------------------------------------------------

@custom_jvp
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Value:
    """Return the Hurwitz zeta function: the sum of `(k + q) ** -x` over k = 0, 1, 2, ...

    >>> jax.scipy.special.zeta(2.0, 1.0)
    Array(1.644934, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.zeta.html.
    """
    if q is None:
        raise NotImplementedError("Riemann zeta function not implemented; pass q != None to compute the Hurwitz Zeta "
                                  "function.")
    x, q = promote_args_inexact("zeta", x, q)
    return lax.zeta(x, q)


def _zeta_series(x: Any, q: Any) -> Value:
    """The sum by Euler and Maclaurin, which can be differentiated. Source: Johansson 2013, arXiv:1309.2877."""
    s, a = promote_args_inexact("zeta", x, q)
    number = np.dtype(a.dtype).type
    terms = 8 if a.dtype == np.float32 else 16
    n = number(terms)
    s_, a_ = expand_dims(s, -1), expand_dims(a, -1)
    k = expand_dims(np.arange(n, dtype=n.dtype), tuple(range(a.ndim)))
    direct = sum((a_ + k) ** (-s_), -1)
    integral = lax.div((a + n) ** (number(1) - s), s - number(1))
    last = (a + n) ** (-s)
    m = expand_dims(np.arange(2 * n, dtype=n.dtype), tuple(range(s.ndim)))
    rising = cumprod((s_ + m) / (a_ + n), -1)[..., ::2]
    rising = clip(rising, max=finfo(number).max)
    bernoulli = np.array(_BERNOULLI[:rising.shape[-1]], dtype=number)
    tail = rising / np.expand_dims(bernoulli, tuple(range(a.ndim)))
    tail = last * (number(0.5) + tail.sum(-1))
    return direct + integral + tail


_BERNOULLI = (
    12, -720, 30240, -1209600, 47900160, -1307674368000 / 691, 74724249600, -10670622842880000 / 3617,
    5109094217170944000 / 43867, -802857662698291200000 / 174611, 14101100039391805440000 / 77683,
    -1693824136731743669452800000 / 236364091, 186134520519971831808000000 / 657931,
    -37893265687455865519472640000000 / 3392780147, 759790291646040068357842010112000000 / 1723168255201,
    -134196726836183700385281186201600000000 / 7709321041217)

zeta.defjvp(partial(jvp, _zeta_series))
zeta = remembered(elementwise=True)(zeta)


# --- Bessel functions ------------------------------------------------------------------------------------------

@remembered(elementwise=True)
def i0e(x: ArrayLike) -> Value:
    """Return the modified Bessel function of order 0, times `exp(-abs(x))`.

    >>> jax.scipy.special.i0e(0.0)
    Array(1.0000001, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.i0e.html.
    """
    x, = promote_args_inexact("i0e", x)
    return lax.bessel_i0e(x)


@remembered(elementwise=True)
def i0(x: ArrayLike) -> Value:
    """Return the modified Bessel function of order 0.

    >>> jax.scipy.special.i0(0.0)
    Array(1.0000001, dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.i0.html.
    """
    x, = promote_args_inexact("i0", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


@remembered(elementwise=True)
def i1e(x: ArrayLike) -> Value:
    """Return the modified Bessel function of order 1, times `exp(-abs(x))`.

    >>> jax.scipy.special.i1e(0.0)
    Array(0., dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.i1e.html.
    """
    x, = promote_args_inexact("i1e", x)
    return lax.bessel_i1e(x)


@remembered(elementwise=True)
def i1(x: ArrayLike) -> Value:
    """Return the modified Bessel function of order 1.

    >>> jax.scipy.special.i1(0.0)
    Array(0., dtype=float32, weak_type=True)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.i1.html.
    """
    x, = promote_args_inexact("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))
