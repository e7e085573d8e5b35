"""Special functions that are few lines each: the dilogarithm, rising factorials, Bernoulli numbers."""
from __future__ import annotations

import operator

import numpy as np

from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import remembered
from tinytrace.numpy.array_creation import array, asarray, zeros
from tinytrace.numpy.cumulative import cumprod
from tinytrace.numpy.exponential import log
from tinytrace.numpy.functional import piecewise
from tinytrace.numpy.polynomials import polyval
from tinytrace.numpy.promotion import ArrayLike, Value, concrete, promote_args_inexact
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.reductions import sum
from tinytrace.numpy.searching import where
from tinytrace.scipy.gamma_functions import digamma, gamma


@remembered()
def spence(x: ArrayLike) -> Value:
    """Return the dilogarithm: the integral of `log(t) / (1 - t)` from 1 to x; nan below 0.

    Raises: TypeError unless `x` is f32 or f64.
    Source: S. Moshier, "Methods and programs for mathematical functions" (1989), spence.c.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.spence.html.

    >>> jax.scipy.special.spence(jnp.array([0.0, 1.0, 2.0]))
    Array([ 1.644934 ,  0.       , -0.8224671], dtype=float32)
    """
    x = asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={x.dtype} is not supported, see docstring for supported types.")
    return piecewise(x, [x < 0.0, x == 1.0, x == 0.0], [np.nan, 0, np.pi ** 2 / 6, _spence_of_positive])


def _spence_of_positive(x: Value) -> Value:
    """Reflect and invert into [-0.5, 0.5], where a quotient of polynomials will do."""
    inverted = x > 2.0
    x = piecewise(x, [inverted], [lambda x: 1.0 / x, lambda x: x])
    is_large, is_small = x > 1.5, x < 0.5
    inverted = inverted | is_large
    w = piecewise(x, [is_large, is_small], [lambda x: 1.0 / x - 1.0, lambda x: -x, lambda x: x - 1.0])
    numerator, denominator = array(_SPENCE_ABOVE, dtype=w.dtype), array(_SPENCE_BELOW, dtype=w.dtype)
    y = -w * polyval(numerator, w) / polyval(denominator, w)
    reflected = np.pi ** 2 / 6.0 - log(x) * log(1.0 - x) - y
    y = where(is_small, reflected, y)
    of_inverse = -0.5 * log(x) ** 2 - y
    return where(inverted, of_inverse, y)


_SPENCE_ABOVE = (4.65128586073990045278e-5, 7.31589045238094711071e-3, 1.33847639578309018650e-1,
                 8.79691311754530315341e-1, 2.71149851196553469920e0, 4.25697156008121755724e0,
                 3.29771340985225106936e0, 1.00000000000000000126e0)
_SPENCE_BELOW = (6.90990488912553276999e-4, 2.54043763932544379113e-2, 2.82974860602568089943e-1,
                 1.41172597751831069617e0, 3.63800533345137075418e0, 5.03278880143316990390e0,
                 3.54771340985225096217e0, 9.99999999999999998740e-1)


@custom_jvp
def poch(z: ArrayLike, m: ArrayLike) -> Value:
    """Return the rising factorial (Pochhammer's symbol) `gamma(z + m) / gamma(z)`.

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.poch.html.

    >>> jax.scipy.special.poch(1.0, 3.0)
    Array(6., dtype=float32)
    """
    z, m = promote_args_inexact("poch", z, m)
    none = m == 0.0
    one = array(1, dtype=z.dtype)
    return where(none, one, gamma(z + m) / gamma(z))


poch.defjvps(lambda z_dot, ans, z, m: (digamma(z + m) - digamma(z)) * poch(z, m) * z_dot,
             lambda m_dot, ans, z, m: digamma(z + m) * poch(z, m) * m_dot)
poch = remembered(elementwise=True)(poch)


def bernoulli(n: int) -> Value:
    """Return the Bernoulli numbers B_0 to B_n: f32[n + 1].

    Raises: ValueError for a negative n.
    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.special.bernoulli.html.

    >>> jax.scipy.special.bernoulli(2)
    Array([ 1.        , -0.5       ,  0.16666667], dtype=float32)
    """
    n = operator.index(concrete(n, "Argument n of bernoulli"))
    if n < 0:
        raise ValueError("n must be a non-negative integer.")
    first = array([1, -1 / 2, 1 / 6])
    if n < 3:
        return first[:n + 1]
    numbers = zeros(n + 1).at[:3].set(first)
    m = arange(4, n + 1, 2, dtype=numbers.dtype)
    leading = (1.0 / np.pi ** 2) * cumprod(-(m - 1) * m / 4 / np.pi ** 2)
    k = arange(2, 50, dtype=numbers.dtype)
    rest = sum(k[:, None] ** (-m[None, :]), axis=0)  # the zeta function of m, less 1
    return numbers.at[4::2].set(leading * (1 + rest))
