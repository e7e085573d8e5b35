"""Exponentials, logarithms, circular and hyperbolic functions of complex numbers; see `on_complex.py`.

Sources: W. Kahan, "Branch cuts for complex elementary functions" (1987); JAX 0.4.35 for sine and cosine.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinytrace.primitives import transcendental as tr
from tinytrace.primitives.arithmetic import abs, add, div, max, min, mul, sqrt, sub
from tinytrace.primitives.bitwise import bitwise_and, bitwise_or
from tinytrace.primitives.comparison import eq, gt, lt, ne
from tinytrace.primitives.complex_numbers import complex, imag, real
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.elementwise import const_like, filled_like, neg
from tinytrace.primitives.on_complex import (
    broadcast_together,
    equals,
    length,
    means_on_parts,
    over_i,
    parts,
    root,
    times_i,
    with_sign_of,
)
from tinytrace.primitives.select import select
from tinytrace.primitives.transcendental import atan2, cos, cosh, exp, expm1, log, log1p, sin, sinh, tan

# --- exponentials and logarithms -------------------------------------------------------------------------------

@means_on_parts(tr.exp_p)
def _exp(x: Any) -> Any:
    a, b = parts(x)
    size, flat = exp(a), equals(b, 0)
    # Where exp overflows and its product does not: in two steps.
    huge = bitwise_and(eq(size, const_like(a, np.inf)), lt(a, const_like(a, np.inf)))
    half = exp(mul(a, const_like(a, 0.5)))
    factor = select(huge, half, size)
    re, im = _turned(factor, cos(b), a), mul(factor, sin(b))
    re, im = select(huge, mul(re, half), re), select(huge, mul(im, half), im)
    nothing = bitwise_and(equals(a, -np.inf), ne(im, im))  # of any angle
    return complex(select(flat, size, re), select(flat, b, select(nothing, filled_like(b, 0), im)))


@means_on_parts(tr.exp2_p)
def _exp2(x: Any) -> Any:
    a, b = parts(x)
    log2 = const_like(a, math.log(2))
    return _exp(complex(mul(a, log2), mul(b, log2)))


@means_on_parts(tr.expm1_p)
def _expm1(x: Any) -> Any:
    """exp(a) cos(b) - 1 is expm1(a) cos(b) - 2 sin(b / 2)**2: without a difference of equals."""
    a, b = parts(x)
    half_sine = sin(mul(b, const_like(b, 0.5)))
    whole = _exp(x)
    re = sub(mul(expm1(a), cos(b)), mul(const_like(a, 2), mul(half_sine, half_sine)))
    small = lt(abs(a), const_like(a, 1))
    re = select(small, re, sub(real(whole), const_like(a, 1)))
    return complex(select(equals(b, 0), expm1(a), re), imag(whole))


@means_on_parts(tr.log_p)
def _log(x: Any) -> Any:
    a, b = parts(x)
    return complex(_log_length(a, b), atan2(b, a))


def _log_length(a: Any, b: Any) -> Any:
    """Return the logarithm of the length of (a, b), also where the length overflows."""
    a, b, inf = abs(a), abs(b), const_like(a, np.inf)
    large, small = max(a, b), min(a, b)
    ratio = div(small, large)
    ratio = select(bitwise_or(equals(large, 0), eq(large, inf)), filled_like(a, 0), ratio)
    result = add(log(large), mul(const_like(a, 0.5), log1p(mul(ratio, ratio))))
    # Near the unit circle log(large) and the rest cancel: log1p of what the square of the length exceeds 1 by.
    one = const_like(a, 1)
    near = bitwise_and(gt(large, const_like(a, 0.5)), lt(large, const_like(a, 2)))
    excess = add(mul(sub(large, one), add(large, one)), mul(small, small))
    result = select(near, mul(const_like(a, 0.5), log1p(excess)), result)
    return select(bitwise_or(eq(a, inf), eq(b, inf)), filled_like(a, np.inf), result)


@means_on_parts(tr.log1p_p)
def _log1p(x: Any) -> Any:
    a, b = parts(x)
    one = const_like(a, 1)
    moved = add(a, one)
    small = lt(max(abs(a), abs(b)), const_like(a, 0.5))
    near = mul(const_like(a, 0.5), log1p(add(mul(a, add(a, const_like(a, 2))), mul(b, b))))
    return complex(select(small, near, _log_length(moved, b)), atan2(b, moved))


@means_on_parts(tr.logistic_p)
def _logistic(x: Any) -> Any:
    one = filled_like(x, 1)
    return div(one, add(one, _exp(neg(x))))


@means_on_parts(tr.pow_p)
def _pow(x: Any, y: Any) -> Any:
    """exp(y log(x)), but 1 for an exponent 0 and powers of 1, and 0 for powers of 0 with a positive exponent."""
    if y.dtype != x.dtype:
        y = convert_element_type(y, x.dtype)
    x, y = broadcast_together(x, y)
    (a, b), (c, d) = parts(x), parts(y)
    size, angle = length(a, b), atan2(b, a)
    power = mul(tr.pow(size, c), exp(mul(neg(d), angle)))
    no_turn = equals(d, 0)  # also where the logarithm is infinite
    turn = add(mul(c, angle), select(no_turn, filled_like(d, 0), mul(d, _log_length(a, b))))
    zero, one = filled_like(x, 0), filled_like(x, 1)
    level = equals(turn, 0)
    result = complex(mul(power, cos(turn)), select(level, turn, mul(power, sin(turn))))
    of_zero = bitwise_and(bitwise_and(equals(size, 0), no_turn), gt(c, const_like(c, 0)))
    is_one = bitwise_or(bitwise_and(equals(c, 0), no_turn), bitwise_and(equals(a, 1), equals(b, 0)))
    return select(is_one, one, select(of_zero, zero, result))


# --- circles and hyperbolas ------------------------------------------------------------------------------------

def _turned(size: Any, part: Any, a: Any) -> Any:
    """Return `size * part`, the cosine of an angle: of an infinite `a` infinite too where there is no angle."""
    return select(bitwise_and(equals(abs(a), np.inf), ne(part, part)), size, mul(size, part))


def _beside_zero(product: Any, b: Any) -> Any:
    """Return a product with sinh(b) or sin(b): of a zero a zero, also where the other factor is NaN."""
    return select(bitwise_and(equals(b, 0), ne(product, product)), b, product)


def _sinh_and_cosh(x: Any) -> tuple[Any, Any]:
    """Of expm1, as JAX has it: no digits are lost near 0."""
    up, down, half = expm1(x), expm1(neg(x)), const_like(x, 2)
    return div(sub(up, down), half), div(add(add(up, down), const_like(x, 2)), half)


@means_on_parts(tr.sin_p)
def _sin(x: Any) -> Any:
    a, b = parts(x)
    zero = equals(a, 0)
    sinh_b, cosh_b = _sinh_and_cosh(b)
    im = _beside_zero(_turned(sinh_b, cos(a), b), b)
    return complex(select(zero, filled_like(a, 0), mul(sin(a), cosh_b)), im)


@means_on_parts(tr.cos_p)
def _cos(x: Any) -> Any:
    a, b = parts(x)
    sinh_b, cosh_b = _sinh_and_cosh(b)
    im = _beside_zero(mul(neg(sin(a)), sinh_b), b)
    return complex(_turned(cosh_b, cos(a), b), select(equals(a, 0), filled_like(a, 0), im))


@means_on_parts(tr.tan_p)
def _tan(x: Any) -> Any:
    return over_i(_tanh(times_i(x)))


@means_on_parts(tr.sinh_p)
def _sinh(x: Any) -> Any:
    a, b = parts(x)
    return complex(_beside_zero(_turned(sinh(a), cos(b), a), a), _beside_zero(mul(cosh(a), sin(b)), b))


@means_on_parts(tr.cosh_p)
def _cosh(x: Any) -> Any:
    a, b = parts(x)
    im = _beside_zero(_beside_zero(mul(sinh(a), sin(b)), a), mul(with_sign_of(filled_like(a, 1), a), b))
    return complex(_turned(cosh(a), cos(b), a), im)


@means_on_parts(tr.tanh_p)
def _tanh(x: Any) -> Any:
    """Kahan's: with t = tan b and s = sinh a, no step overflows up to |a| = 10 (float64: 20); then it is 1."""
    a, b = parts(x)
    one, four = const_like(a, 1), const_like(a, 4)
    t, s = tan(b), sinh(a)
    steep = add(one, mul(t, t))
    below = add(one, mul(steep, mul(s, s)))
    rho = sqrt(add(one, mul(s, s)))
    endless = equals(abs(t), np.inf)
    re = select(endless, div(rho, s), div(mul(mul(steep, rho), s), below))
    im = select(endless, div(one, t), div(t, below))
    far = gt(abs(a), const_like(a, 20 if a.dtype.itemsize == 8 else 10))
    size = exp(neg(abs(a)))
    small = mul(mul(mul(four, div(t, steep)), size), size)  # 4 sin b cos b exp(-2 |a|)
    small = select(bitwise_and(equals(abs(a), np.inf), ne(small, small)), with_sign_of(filled_like(b, 0), b), small)
    known = bitwise_or(equals(abs(a), np.inf), eq(small, small))
    far_re = select(known, with_sign_of(filled_like(a, 1), a), small)
    re, im = select(far, far_re, re), select(far, small, im)
    return complex(select(equals(a, 0), a, re), select(equals(b, 0), b, im))


# --- inverse functions -----------------------------------------------------------------------------------------
# A part that is NaN makes only those parts of a result NaN that depend on it: beside 0 and infinity not all do.

def _one_minus(x: Any) -> Any:
    a, b = parts(x)
    return complex(sub(const_like(a, 1), a), neg(b))


def _one_plus(x: Any) -> Any:
    a, b = parts(x)
    return complex(add(const_like(a, 1), a), b)


def _roots(x: Any) -> tuple[Any, Any, Any, Any]:
    """Return the parts of sqrt(1 - x) and of sqrt(1 + x)."""
    return (*parts(root(_one_minus(x))), *parts(root(_one_plus(x))))


def _is_huge(a: Any, b: Any) -> Any:
    """Is 1 nothing beside the square of a + bi? Then its inverse functions are logarithms and angles."""
    return _exceeds(a, b, 1 / float(np.finfo(a.dtype).eps))


def _exceeds(a: Any, b: Any, bound: float) -> Any:
    """Is one of the parts larger than `bound`, whatever the other is?"""
    return bitwise_or(gt(abs(a), const_like(a, bound)), gt(abs(b), const_like(b, bound)))


def _log_of_double(a: Any, b: Any) -> Any:
    return add(_log_length(a, b), const_like(a, math.log(2)))


@means_on_parts(tr.asin_p)
def _asin(x: Any) -> Any:
    a, b = parts(x)
    p, q, r, s = _roots(x)
    huge = _is_huge(a, b)
    re, im = atan2(a, sub(mul(p, r), mul(q, s))), tr.asinh(sub(mul(p, s), mul(q, r)))
    re = select(huge, atan2(a, abs(b)), re)
    return complex(select(equals(a, 0), a, re), select(huge, with_sign_of(_log_of_double(a, b), b), im))


@means_on_parts(tr.acos_p)
def _acos(x: Any) -> Any:
    a, b = parts(x)
    p, q, r, s = _roots(x)
    huge = _is_huge(a, b)
    re, im = mul(const_like(p, 2), atan2(p, r)), tr.asinh(sub(mul(r, q), mul(s, p)))
    re = select(huge, atan2(abs(b), a), re)
    re = select(equals(a, 0), filled_like(a, math.pi / 2), re)
    return complex(re, select(huge, neg(with_sign_of(_log_of_double(a, b), b)), im))


@means_on_parts(tr.asinh_p)
def _asinh(x: Any) -> Any:
    return over_i(_asin(times_i(x)))


@means_on_parts(tr.acosh_p)
def _acosh(x: Any) -> Any:
    a, b = parts(x)
    p, q = parts(root(complex(sub(a, const_like(a, 1)), b)))
    r, s = parts(root(_one_plus(x)))
    huge = _is_huge(a, b)
    re, im = tr.asinh(add(mul(p, r), mul(q, s))), mul(const_like(a, 2), atan2(q, r))
    im = select(huge, atan2(b, a), im)
    upright = with_sign_of(filled_like(b, math.pi / 2), b)
    return complex(select(huge, _log_of_double(a, b), re), select(equals(a, 0), upright, im))


@means_on_parts(tr.atanh_p)
def _atanh(x: Any) -> Any:
    """Kahan's; of huge numbers 1 / x is left of the real part, and a right angle of the imaginary one."""
    a, b = parts(x)
    one, quarter = const_like(a, 1), const_like(a, 0.25)
    to_one = sub(one, abs(a))
    re = mul(quarter, log1p(div(mul(const_like(a, 4), abs(a)), add(mul(to_one, to_one), mul(b, b)))))
    im = mul(const_like(a, 0.5), atan2(mul(const_like(b, 2), b),
                                       sub(mul(to_one, add(one, abs(a))), mul(b, b))))
    huge = _exceeds(a, b, math.sqrt(float(np.finfo(a.dtype).max)) / 4)
    large, small = max(abs(a), abs(b)), min(abs(a), abs(b))
    ratio = div(small, large)
    inverse = div(div(div(abs(a), large), large), add(one, mul(ratio, ratio)))
    inverse = select(bitwise_or(equals(abs(a), np.inf), equals(abs(b), np.inf)), filled_like(a, 0), inverse)
    re = select(huge, inverse, re)
    known = bitwise_and(eq(b, b), bitwise_or(eq(a, a), equals(abs(b), np.inf)))
    upright = select(known, with_sign_of(filled_like(b, math.pi / 2), b), add(a, b))
    im = select(huge, upright, im)
    return complex(select(equals(a, 0), a, with_sign_of(abs(re), a)), im)


@means_on_parts(tr.atan_p)
def _atan(x: Any) -> Any:
    return over_i(_atanh(times_i(x)))


@means_on_parts(tr.atan2_p)
def _atan2(x: Any, y: Any) -> Any:
    """The angle of (y, x): -i log((y + ix) / sqrt(x**2 + y**2))."""
    x, y = broadcast_together(x, y)
    return over_i(_log(div(add(y, times_i(x)), root(add(mul(x, x), mul(y, y))))))
