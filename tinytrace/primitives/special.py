"""Special functions: erf and its kin, gamma and its derivatives, incomplete integrals, Bessel functions.

Their meanings in NumPy stand in `special_values`, in double precision; csrc/math computes the same in C.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tinytrace.core.dtypes import dtype_of, is_half
from tinytrace.core.formulas import Formula, call, call_named
from tinytrace.primitives import special_values
from tinytrace.primitives.arithmetic import abs, add, mul, reciprocal, square, sub
from tinytrace.primitives.comparison import gt
from tinytrace.primitives.elementwise import FLOAT, Elementwise, const_like, filled_like, function, neg
from tinytrace.primitives.rounding import sign
from tinytrace.primitives.select import select
from tinytrace.primitives.transcendental import exp, log, log1p


def erf(x: Any) -> Any:
    """Return the error function: the probability that a normal variable of variance 1/2 lies within `x` of 0, signed.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.erf.html.

    >>> erf(np.float32(0.5))
    Array(0.5204999, dtype=float32)
    """
    return erf_p.bind(x)


def erfc(x: Any) -> Any:
    """Return `1 - erf(x)` without the loss of digits for large `x`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.erfc.html.

    >>> erfc(np.float32(3))
    Array(2.209049e-05, dtype=float32)
    """
    return erfc_p.bind(x)


def erf_inv(x: Any) -> Any:
    """Return the number whose error function is `x`; infinite at -1 and 1, NaN outside.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.erf_inv.html.

    >>> erf_inv(np.float32(0.5))
    Array(0.47693628, dtype=float32)
    """
    return erf_inv_p.bind(x)


def lgamma(x: Any) -> Any:
    """Return the logarithm of the absolute value of the gamma function; inf at 0, -1, -2, ...

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.lgamma.html.

    >>> lgamma(np.float32(5))
    Array(3.1780539, dtype=float32)
    """
    return lgamma_p.bind(x)


def digamma(x: Any) -> Any:
    """Return the derivative of `lgamma`; NaN at 0, -1, -2, ...

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.digamma.html.

    >>> digamma(np.float32(1))
    Array(-0.5772157, dtype=float32)
    """
    return digamma_p.bind(x)


def polygamma(m: Any, x: Any) -> Any:
    """Return derivative number `m` (a whole number, as a float) of `digamma` at `x` > 0.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.polygamma.html.

    >>> polygamma(np.float32(1), np.float32(1))
    Array(1.6449341, dtype=float32)
    """
    return polygamma_p.bind(m, x)


def zeta(x: Any, q: Any) -> Any:
    """Return Hurwitz's zeta function, the sum of `(q + k) ** -x` over k = 0, 1, 2, ...

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.zeta.html.

    >>> zeta(np.float32(2), np.float32(1))
    Array(1.6449341, dtype=float32)
    """
    return zeta_p.bind(x, q)


def igamma(a: Any, x: Any) -> Any:
    """Return the regularized lower incomplete gamma function P(a, x).

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.igamma.html.

    >>> igamma(np.float32(1), np.float32(1))
    Array(0.63212055, dtype=float32)
    """
    return igamma_p.bind(a, x)


def igammac(a: Any, x: Any) -> Any:
    """Return the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.igammac.html.

    >>> igammac(np.float32(1), np.float32(1))
    Array(0.36787945, dtype=float32)
    """
    return igammac_p.bind(a, x)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """Return the derivative of `igamma` with respect to `a`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.igamma_grad_a.html.

    >>> igamma_grad_a(np.float32(1), np.float32(1))
    Array(-0.4317297, dtype=float32)
    """
    return igamma_grad_a_p.bind(a, x)


def random_gamma_grad(a: Any, x: Any) -> Any:
    """Return how a sample `x` of the gamma distribution moves with its shape `a`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.random_gamma_grad.html.

    >>> random_gamma_grad(np.float32(1), np.float32(1))
    Array(1.173563, dtype=float32)
    """
    return random_gamma_grad_p.bind(a, x)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the regularized incomplete beta function I_x(a, b).

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.betainc.html.

    >>> betainc(np.float32(2), np.float32(3), np.float32(0.5))
    Array(0.6875, dtype=float32)
    """
    return regularized_incomplete_beta_p.bind(a, b, x)


def bessel_i0e(x: Any) -> Any:
    """Return `exp(-|x|)` times the modified Bessel function of order 0.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.bessel_i0e.html.

    >>> bessel_i0e(np.float32(1))
    Array(0.46575963, dtype=float32)
    """
    return bessel_i0e_p.bind(x)


def bessel_i1e(x: Any) -> Any:
    """Return `exp(-|x|)` times the modified Bessel function of order 1.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.bessel_i1e.html.

    >>> bessel_i1e(np.float32(1))
    Array(0.20791042, dtype=float32)
    """
    return bessel_i1e_p.bind(x)


# --- tangents --------------------------------------------------------------------------------------------------

def _bell(scale: float) -> Callable[..., Any]:
    """Return the rule of a function whose derivative is `scale * exp(-x**2)`."""
    return lambda g, out, x: mul(const_like(x, scale), mul(g, exp(neg(square(x)))))


def _igamma_tangent_a(g: Any, out: Any, a: Any, x: Any) -> Any:
    return mul(g, igamma_grad_a(a, x))


def _igamma_tangent_x(g: Any, out: Any, a: Any, x: Any) -> Any:
    density = exp(sub(add(neg(x), mul(sub(a, filled_like(a, 1)), log(x))), lgamma(a)))
    return mul(g, density)


def _betainc_tangent_x(g: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
    # Python's operators, because the types of a, b and x may differ in weakness: they promote, lax functions do not.
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    return exp((b - 1) * log1p(-x) + (a - 1) * log(x) - log_beta) * g


def _bessel_i1e_tangent(g: Any, out: Any, x: Any) -> Any:
    # Near 0 the formula divides 0 by 0; the derivative there is 1/2.
    epsilon = float(np.finfo(dtype_of(x)).eps)
    away = gt(abs(x), const_like(x, epsilon))
    safe = select(away, x, filled_like(x, epsilon))
    slope = sub(bessel_i0e(safe), mul(out, add(sign(safe), reciprocal(safe))))
    return mul(g, select(away, slope, filled_like(x, 0.5)))


def _unsupported(message: str) -> Callable[..., NoReturn]:
    def rule(g: Any, out: Any, *operands: Any) -> NoReturn:
        raise ValueError(message)

    return rule


def _erfc(x: Formula) -> Formula:
    return call_named("tt_erfc_short_f32", x) if x.dtype is not None and is_half(x.dtype) else call("erfc", x)


# --- rooms -----------------------------------------------------------------------------------------------------

erf_p = Elementwise("erf", FLOAT, special_values.erf, function("erf"), _bell(2 / math.sqrt(math.pi)),
                    ulp=(2.5, 3), laws="monotone odd")
erfc_p = Elementwise("erfc", FLOAT, special_values.erfc, _erfc, _bell(-2 / math.sqrt(math.pi)),
                     ulp=(0.51, 5))
erf_inv_p = Elementwise("erf_inv", FLOAT, special_values.erf_inv, function("erf_inv"),
                        lambda g, out, x: mul(const_like(x, math.sqrt(math.pi) / 2), mul(g, exp(square(out)))),
                        ulp=(65, 5), laws="monotone odd")

lgamma_p = Elementwise("lgamma", FLOAT, special_values.lgamma, function("lgamma"),
                       lambda g, out, x: mul(g, digamma(x)), ulp=(0.6, None))
digamma_p = Elementwise("digamma", FLOAT, special_values.digamma, function("digamma"),
                        lambda g, out, x: mul(g, polygamma(const_like(x, 1), x)), ulp=(0.6, None))
polygamma_p = Elementwise("polygamma", [FLOAT, FLOAT], special_values.polygamma, function("polygamma"),
                          _unsupported("polygamma gradient with respect to m is not supported"),
                          lambda g, out, m, x: mul(g, polygamma(add(m, const_like(m, 1)), x)))
zeta_p = Elementwise("zeta", [FLOAT, FLOAT], special_values.zeta, function("zeta"))

igamma_p = Elementwise("igamma", [FLOAT, FLOAT], special_values.igamma, function("igamma"),
                       _igamma_tangent_a, _igamma_tangent_x)
igammac_p = Elementwise("igammac", [FLOAT, FLOAT], special_values.igammac, function("igammac"),
                        lambda g, out, a, x: neg(_igamma_tangent_a(g, out, a, x)),
                        lambda g, out, a, x: neg(_igamma_tangent_x(g, out, a, x)))
igamma_grad_a_p = Elementwise("igamma_grad_a", [FLOAT, FLOAT], special_values.igamma_grad_a,
                              function("igamma_grad_a"))
random_gamma_grad_p = Elementwise("random_gamma_grad", [FLOAT, FLOAT], special_values.random_gamma_grad,
                                  function("random_gamma_grad"))
_BETAINC_REFUSAL = _unsupported("Betainc gradient with respect to a and b not supported.")
regularized_incomplete_beta_p = Elementwise("regularized_incomplete_beta", [FLOAT, FLOAT, FLOAT],
                                            special_values.betainc, function("betainc"),
                                            _BETAINC_REFUSAL, _BETAINC_REFUSAL, _betainc_tangent_x)

bessel_i0e_p = Elementwise("bessel_i0e", FLOAT, special_values.bessel_i0e, function("bessel_i0e"),
                           lambda g, out, x: mul(g, sub(bessel_i1e(x), mul(sign(x), out))), ulp=(0.51, 4), laws="even")
bessel_i1e_p = Elementwise("bessel_i1e", FLOAT, special_values.bessel_i1e, function("bessel_i1e"),
                           _bessel_i1e_tangent, ulp=(0.51, 4), laws="odd")
