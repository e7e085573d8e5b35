"""Exponentials, logarithms, powers, trigonometric and hyperbolic functions and their inverses."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import DType, is_inexact, is_integer, result_type
from tinytrace.primitives.arithmetic import add, div, mul, reciprocal, rsqrt, square, sub
from tinytrace.primitives.comparison import eq
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.elementwise import (
    INEXACT,
    NUMBER,
    Elementwise,
    NDArray,
    broadcast_operands,
    const_like,
    filled_like,
    function,
    in_float32,
    maybe_broadcast,
    neg,
    one_like,
)
from tinytrace.primitives.select import select


def exp(x: Any) -> Any:
    """Raise e to the power `x`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.exp.html.

    >>> exp(np.float32(1))
    Array(2.7182817, dtype=float32)
    """
    return exp_p.bind(x)


def exp2(x: Any) -> Any:
    """Raise 2 to the power `x`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.exp2.html.

    >>> exp2(np.float32(3))
    Array(8., dtype=float32)
    """
    return exp2_p.bind(x)


def expm1(x: Any) -> Any:
    """Return `exp(x) - 1` without the loss of digits near 0.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.expm1.html.

    >>> expm1(np.float32(1e-4))
    Array(0.00010001, dtype=float32)
    """
    return expm1_p.bind(x)


def log(x: Any) -> Any:
    """Return the natural logarithm; -inf at zero, NaN below.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.log.html.

    >>> log(np.float32(2))
    Array(0.6931472, dtype=float32)
    """
    return log_p.bind(x)


def log1p(x: Any) -> Any:
    """Return `log(1 + x)` without the loss of digits near 0.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.log1p.html.

    >>> log1p(np.float32(1e-4))
    Array(9.9995e-05, dtype=float32)
    """
    return log1p_p.bind(x)


def logistic(x: Any) -> Any:
    """Return `1 / (1 + exp(-x))`, the sigmoid.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.logistic.html.

    >>> logistic(np.float32(0))
    Array(0.5, dtype=float32)
    """
    return logistic_p.bind(x)


def sin(x: Any) -> Any:
    """Return the sine of an angle in radians.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.sin.html.

    >>> sin(np.float32(1))
    Array(0.84147096, dtype=float32)
    """
    return sin_p.bind(x)


def cos(x: Any) -> Any:
    """Return the cosine of an angle in radians.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.cos.html.

    >>> cos(np.float32(1))
    Array(0.5403023, dtype=float32)
    """
    return cos_p.bind(x)


def tan(x: Any) -> Any:
    """Return the tangent of an angle in radians.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.tan.html.

    >>> tan(np.float32(1))
    Array(1.5574077, dtype=float32)
    """
    return tan_p.bind(x)


def asin(x: Any) -> Any:
    """Return the angle in [-pi/2, pi/2] whose sine is `x`; NaN outside [-1, 1].

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.asin.html.

    >>> asin(np.float32(0.5))
    Array(0.5235988, dtype=float32)
    """
    return asin_p.bind(x)


def acos(x: Any) -> Any:
    """Return the angle in [0, pi] whose cosine is `x`; NaN outside [-1, 1].

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.acos.html.

    >>> acos(np.float32(0.5))
    Array(1.0471976, dtype=float32)
    """
    return acos_p.bind(x)


def atan(x: Any) -> Any:
    """Return the angle in [-pi/2, pi/2] whose tangent is `x`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.atan.html.

    >>> atan(np.float32(1))
    Array(0.7853982, dtype=float32)
    """
    return atan_p.bind(x)


def sinh(x: Any) -> Any:
    """Return the hyperbolic sine.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.sinh.html.

    >>> sinh(np.float32(1))
    Array(1.1752012, dtype=float32)
    """
    return sinh_p.bind(x)


def cosh(x: Any) -> Any:
    """Return the hyperbolic cosine.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.cosh.html.

    >>> cosh(np.float32(1))
    Array(1.5430806, dtype=float32)
    """
    return cosh_p.bind(x)


def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.tanh.html.

    >>> tanh(np.float32(1))
    Array(0.7615942, dtype=float32)
    """
    return tanh_p.bind(x)


def asinh(x: Any) -> Any:
    """Return the inverse hyperbolic sine.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.asinh.html.

    >>> asinh(np.float32(1))
    Array(0.88137364, dtype=float32)
    """
    return asinh_p.bind(x)


def acosh(x: Any) -> Any:
    """Return the inverse hyperbolic cosine; NaN below 1.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.acosh.html.

    >>> acosh(np.float32(2))
    Array(1.316958, dtype=float32)
    """
    return acosh_p.bind(x)


def atanh(x: Any) -> Any:
    """Return the inverse hyperbolic tangent; NaN outside [-1, 1].

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.atanh.html.

    >>> atanh(np.float32(0.5))
    Array(0.54930615, dtype=float32)
    """
    return atanh_p.bind(x)


def atan2(x: Any, y: Any) -> Any:
    """Return the angle in [-pi, pi] of the point whose ordinate is `x` and whose abscissa is `y`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.atan2.html.

    >>> atan2(np.float32(1), np.float32(-1))
    Array(2.3561945, dtype=float32)
    """
    return atan2_p.bind(x, y)


def pow(x: Any, y: Any) -> Any:
    """Raise the float or complex `x` to the power `y`, of the same dtype or an integer.

    Raises: TypeError for other combinations of dtypes.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.pow.html.

    >>> pow(np.float32(2), np.float32(0.5))
    Array(1.4142135, dtype=float32)
    """
    return pow_p.bind(x, y)


# --- rooms -----------------------------------------------------------------------------------------------------

class Pow(Elementwise):
    """`pow x: f32[n] y: f32[n]` or `pow x: f32[n] y: i32[n]`; x may be complex."""

    def result_dtype(self, *avals: ShapedArray, **params: Any) -> DType:
        x, y = avals
        if x.dtype == y.dtype or (is_inexact(x.dtype) and is_integer(y.dtype)):
            return x.dtype
        raise TypeError("the first argument to pow must have an inexact dtype (float or complex), and the second "
                        "argument must have an inexact or integer dtype, and two inexact dtypes must match, but got "
                        f"{x.dtype} and {y.dtype} respectively.")

    def check_runnable(self, *operands: Any) -> None:
        """An integer exponent is converted."""


WIDENED = 4096
"""Arrays up to this size are computed in double precision."""


def rounded_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a NumPy function whose small float32 results are the nearest to the exact ones.

    NumPy's own float32 functions are off by an ulp now and then, which shows when a number is printed; XLA's hardly
    ever. Large arrays, of which nobody prints all, take NumPy's faster way.
    """

    @functools.wraps(function)
    def wrapped(*args: NDArray) -> Any:
        if args[0].dtype != np.float32 or args[0].size > WIDENED:
            return function(*args)
        return function(*[x.astype(np.float64) for x in args]).astype(np.float32)

    wrapped.for_large = function  # type: ignore[attr-defined]
    return wrapped


def _pow(x: NDArray, y: NDArray) -> Any:
    """NumPy takes the root where the exponent is 0.5 and a scalar: of -0 and -inf that is another number."""
    y = y.astype(x.dtype)
    power, is_root = np.power(x, y), y == 0.5
    return np.where(is_root & ((x == 0) | np.isneginf(x)), abs(x), power) if is_root.any() else power


def _pow_tangent_x(g: Any, out: Any, x: Any, y: Any) -> Any:
    integer_exponent = is_integer(aval_of(y).dtype)
    dtype = result_type(x, y)
    x, y = convert_element_type(x, dtype), convert_element_type(y, dtype)
    if not integer_exponent:
        return mul(g, mul(y, pow(x, sub(y, filled_like(y, 1)))))
    shape = broadcast_operands("pow", aval_of(x), aval_of(y))
    x, y = maybe_broadcast(shape, x), maybe_broadcast(shape, y)
    # Where y is 0 the power is constant; its formula would give 0 * x**-1, NaN at x = 0.
    slope = select(eq(y, const_like(y, 0)), filled_like(y, 0),
                   mul(_one_for_zero(y), pow(x, sub(y, filled_like(y, 1)))))
    return mul(g, slope)


def _pow_tangent_y(g: Any, out: Any, x: Any, y: Any) -> Any:
    return convert_element_type(mul(g, mul(log(_one_for_zero(x)), out)), aval_of(y).dtype)


def _one_for_zero(x: Any) -> Any:
    return select(eq(x, const_like(x, 0)), filled_like(x, 1), x)


@in_float32
def _logistic(x: NDArray) -> Any:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


exp_p = Elementwise("exp", INEXACT, rounded_once(np.exp), function("exp"), lambda g, out, x: mul(g, out),
                    ulp=1.2, laws="monotone")
exp2_p = Elementwise("exp2", INEXACT, rounded_once(np.exp2), function("exp2"),
                     lambda g, out, x: mul(log(const_like(x, 2)), mul(g, out)), ulp=1.2, laws="monotone")
expm1_p = Elementwise("expm1", INEXACT, rounded_once(np.expm1), function("expm1"),
                      lambda g, out, x: mul(g, add(out, one_like(out))), ulp=(1.5, 2), laws="monotone")
log_p = Elementwise("log", INEXACT, rounded_once(np.log), function("log"), lambda g, out, x: div(g, x),
                    ulp=(1.2, 1), laws="monotone")
log1p_p = Elementwise("log1p", INEXACT, rounded_once(np.log1p), function("log1p"),
                      lambda g, out, x: div(g, add(x, one_like(x))), ulp=2, laws="monotone")
pow_p = Pow("pow", [INEXACT, NUMBER], _pow, function("pow"), _pow_tangent_x, _pow_tangent_y, ulp=(0.6, 1.2))
logistic_p = Elementwise("logistic", INEXACT, _logistic, function("logistic"),
                         lambda g, out, x: mul(g, mul(out, sub(one_like(out), out))), ulp=2, laws="monotone")

sin_p = Elementwise("sin", INEXACT, rounded_once(np.sin), function("sin"), lambda g, out, x: mul(g, cos(x)),
                    ulp=2, laws="odd")
cos_p = Elementwise("cos", INEXACT, rounded_once(np.cos), function("cos"), lambda g, out, x: neg(mul(g, sin(x))),
                    ulp=2, laws="even")
tan_p = Elementwise("tan", INEXACT, rounded_once(np.tan), function("tan"),
                    lambda g, out, x: mul(g, add(const_like(x, 1), square(out))), ulp=2, laws="odd")
asin_p = Elementwise("asin", INEXACT, rounded_once(np.arcsin), function("asin"),
                     lambda g, out, x: mul(g, rsqrt(sub(const_like(x, 1), square(x)))),
                     ulp=(1.5, 2), laws="monotone odd")
acos_p = Elementwise("acos", INEXACT, rounded_once(np.arccos), function("acos"),
                     lambda g, out, x: mul(g, neg(rsqrt(sub(const_like(x, 1), square(x))))),
                     ulp=(1.5, 2))
atan_p = Elementwise("atan", INEXACT, rounded_once(np.arctan), function("atan"),
                     lambda g, out, x: div(g, add(const_like(x, 1), square(x))),
                     ulp=(1.5, 2), laws="monotone odd")
atan2_p = Elementwise("atan2", [INEXACT, INEXACT], rounded_once(np.arctan2), function("atan2"),
                      lambda g, out, x, y: mul(g, div(y, add(square(x), square(y)))),
                      lambda g, out, x, y: div(mul(g, -x), add(square(x), square(y))),  # -x: no equation for a constant
                      ulp=2)

sinh_p = Elementwise("sinh", INEXACT, rounded_once(np.sinh), function("sinh"), lambda g, out, x: mul(g, cosh(x)),
                     ulp=2, laws="monotone odd")
cosh_p = Elementwise("cosh", INEXACT, rounded_once(np.cosh), function("cosh"), lambda g, out, x: mul(g, sinh(x)),
                     ulp=2, laws="even")
tanh_p = Elementwise("tanh", INEXACT, np.tanh, function("tanh"),
                     lambda g, out, x: mul(add(g, mul(g, out)), sub(one_like(x), out)),
                     ulp=(5, 3), laws="monotone odd")
asinh_p = Elementwise("asinh", INEXACT, rounded_once(np.arcsinh), function("asinh"),
                      lambda g, out, x: mul(g, rsqrt(add(square(x), one_like(x)))),
                      ulp=(0.51, 2), laws="monotone odd")
acosh_p = Elementwise("acosh", INEXACT, rounded_once(np.arccosh), function("acosh"),
                      lambda g, out, x: mul(g, rsqrt(mul(sub(x, one_like(x)), add(x, one_like(x))))),
                      ulp=(0.51, 2), laws="monotone")
atanh_p = Elementwise("atanh", INEXACT, rounded_once(np.arctanh), function("atanh"),
                      lambda g, out, x: mul(reciprocal(add(one_like(x), x)), div(g, sub(one_like(x), x))),
                      ulp=(0.51, 2), laws="monotone odd")
