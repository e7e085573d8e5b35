"""What elementwise operations mean for complex numbers: programs of operations on real and imaginary parts.

Here quotients, magnitudes, powers and roots; in `transcendental_on_complex.py` the functions made of them.

The tracer, derivatives, and jaxprs know complex numbers as elements like others. Compiled is the program that stands
here, in place of the operation: so what the code generator fuses, vectorises and checks is arithmetic of floats.
Sums, differences, products and tests for equality are not here: their formulas stand with the operations.

Infinities and zeros with signs: C99, Annex G, where XLA follows it. Source: R. Smith, "Algorithm 116: complex division"
(1962).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.core.avals import aval_of
from tinytrace.primitives import arithmetic as ar
from tinytrace.primitives.arithmetic import abs, add, div, max, min, mul, sqrt, sub
from tinytrace.primitives.bitwise import bitwise_and, bitwise_or
from tinytrace.primitives.comparison import eq, ge, gt, lt, ne
from tinytrace.primitives.complex_numbers import complex, imag, real
from tinytrace.primitives.composite import OnParts
from tinytrace.primitives.conversion import bitcast_convert_type_p
from tinytrace.primitives.elementwise import broadcast_operands, const_like, filled_like, maybe_broadcast, neg
from tinytrace.primitives.rounding import sign_p
from tinytrace.primitives.select import select

Program = Callable[..., Any]


def means_on_parts(primitive: OnParts) -> Callable[[Program], Program]:
    """Let a program be the meaning of `primitive` for complex operands."""
    def install(program: Program) -> Program:
        primitive.on_parts, primitive.composite = program, True
        return program

    return install


def parts(x: Any) -> tuple[Any, Any]:
    """Return the real and the imaginary parts."""
    return real(x), imag(x)


def equals(x: Any, value: float) -> Any:
    """Is `x` the number `value`?"""
    return eq(x, const_like(x, value))


def times_i(x: Any) -> Any:
    """Return `1j * x`, exactly."""
    a, b = parts(x)
    return complex(neg(b), a)


def over_i(x: Any) -> Any:
    """Return `x / 1j`, exactly."""
    a, b = parts(x)
    return complex(b, neg(a))


def with_sign_of(size: Any, like: Any) -> Any:
    """Return `size`, not negative, with the sign of `like`, also of a zero."""
    bits = bitcast_convert_type_p.bind(like, new_dtype=np.dtype(f"int{8 * like.dtype.itemsize}"))
    negative = bitwise_and(lt(bits, const_like(bits, 0)), eq(like, like))
    return select(negative, neg(size), size)


def broadcast_together(x: Any, y: Any) -> tuple[Any, Any]:
    """Give two operands, of one shape or scalars or with dimensions of size 1, the shape of the result."""
    shape = broadcast_operands("complex", aval_of(x), aval_of(y))
    return maybe_broadcast(shape, x), maybe_broadcast(shape, y)


# --- arithmetic ------------------------------------------------------------------------------------------------

@means_on_parts(ar.div_p)
def quotient(x: Any, y: Any) -> Any:
    """By the larger part of the divisor first, so that nothing overflows on the way."""
    x, y = broadcast_together(x, y)
    (a, b), (c, d) = parts(x), parts(y)
    c_larger = ge(abs(c), abs(d))
    large, small = select(c_larger, c, d), select(c_larger, d, c)
    ratio = div(small, large)
    scale = add(large, mul(small, ratio))
    p, q = select(c_larger, a, b), select(c_larger, b, a)
    re = div(add(p, mul(q, ratio)), scale)
    im = div(sub(q, mul(p, ratio)), scale)
    im = select(c_larger, im, neg(im))
    return _division_at_the_edge(a, b, c, d, re, im)


def quotient_by_positive(x: Any, y: Any) -> Any:
    """The same for a finite y > 0 with +0 as its imaginary part: what zeros and infinities divide to, in few steps."""
    x, y = broadcast_together(x, y)
    (a, b), (c, zero) = parts(x), parts(y)
    inf = const_like(a, np.inf)
    re = select(eq(abs(a), inf), a, add(a, mul(b, zero)))
    im = select(eq(abs(b), inf), b, sub(b, mul(a, zero)))
    return complex(div(re, c), div(im, c))


def _division_at_the_edge(a: Any, b: Any, c: Any, d: Any, re: Any, im: Any) -> Any:
    """Return quotients, where zeros and infinities divide as C99 and XLA have it."""
    zero, inf = const_like(a, 0), const_like(a, np.inf)
    by_zero = bitwise_and(equals(c, 0), equals(d, 0))
    sign = with_sign_of(filled_like(c, np.inf), c)
    re, im = select(by_zero, mul(sign, a), re), select(by_zero, mul(sign, b), im)
    x_infinite = bitwise_or(eq(abs(a), inf), eq(abs(b), inf))
    y_infinite = bitwise_or(eq(abs(c), inf), eq(abs(d), inf))
    x_finite = bitwise_and(lt(abs(a), inf), lt(abs(b), inf))
    y_finite = bitwise_and(lt(abs(c), inf), lt(abs(d), inf))
    outside = bitwise_and(x_infinite, bitwise_and(y_finite, ne(add(abs(c), abs(d)), zero)))
    unit_a, unit_b = _one_if_infinite(a), _one_if_infinite(b)
    re = select(outside, mul(inf, add(mul(unit_a, c), mul(unit_b, d))), re)
    im = select(outside, mul(inf, sub(mul(unit_b, c), mul(unit_a, d))), im)
    inside = bitwise_and(x_finite, y_infinite)
    unit_c, unit_d = _one_if_infinite(c), _one_if_infinite(d)
    re = select(inside, mul(zero, add(mul(a, unit_c), mul(b, unit_d))), re)
    im = select(inside, mul(zero, sub(mul(b, unit_c), mul(a, unit_d))), im)
    return complex(re, im)


def _one_if_infinite(x: Any) -> Any:
    infinite = eq(abs(x), const_like(x, np.inf))
    return with_sign_of(select(infinite, filled_like(x, 1), filled_like(x, 0)), x)


@means_on_parts(ar.abs_p)
def _abs(x: Any) -> Any:
    return length(*parts(x))


def length(a: Any, b: Any) -> Any:
    """Return the length of (a, b): infinite if a part is, also beside a NaN."""
    a, b, inf = abs(a), abs(b), const_like(a, np.inf)
    large, small = max(a, b), min(a, b)
    ratio = div(small, large)
    result = mul(large, sqrt(add(const_like(a, 1), mul(ratio, ratio))))
    result = select(equals(large, 0), large, result)
    return select(bitwise_or(eq(a, inf), eq(b, inf)), filled_like(a, np.inf), result)


@means_on_parts(sign_p)
def _sign(x: Any) -> Any:
    a, b = parts(x)
    size = length(a, b)
    zero = equals(size, 0)  # of a complex zero the sign is 0, whatever signs its parts have
    return complex(select(zero, size, div(a, size)), select(zero, size, div(b, size)))


@means_on_parts(ar.integer_pow_p)
def _integer_pow(x: Any, *, y: int) -> Any:
    if y == 0:
        return filled_like(x, 1)
    result: Any = None
    power, left = x, y if y > 0 else -y
    while left:
        if left & 1:
            result = power if result is None else mul(result, power)
        left >>= 1
        if left:
            power = mul(power, power)
    return div(filled_like(x, 1), result) if y < 0 else result


@means_on_parts(ar.sqrt_p)
def root(x: Any) -> Any:
    """The larger part from the length, the other one from that; a quarter of huge numbers, whose length overflows."""
    a, b = parts(x)
    inf = const_like(a, np.inf)
    huge = gt(max(abs(a), abs(b)), const_like(a, float(np.finfo(a.dtype).max) / 4))
    quarter = const_like(a, 0.25)
    p, q = select(huge, mul(a, quarter), a), select(huge, mul(b, quarter), b)
    half = const_like(a, 0.5)
    near = sqrt(add(mul(half, abs(p)), mul(half, length(p, q))))
    other = div(mul(half, q), near)
    two = const_like(a, 2)
    near, other = select(huge, mul(two, near), near), select(huge, mul(two, other), other)
    right = ge(a, const_like(a, 0))
    re, im = select(right, near, abs(other)), select(right, other, with_sign_of(near, b))
    nothing = bitwise_and(equals(a, 0), equals(b, 0))
    re, im = select(nothing, filled_like(a, 0), re), select(nothing, b, im)
    # Of infinities: inf + bi where b is infinite; of -inf + bi it is 0 + inf i, of inf + bi it is inf + 0i.
    flat = filled_like(b, 0)
    ahead = bitwise_and(eq(a, inf), lt(abs(b), inf))
    behind = bitwise_and(eq(a, neg(inf)), lt(abs(b), inf))
    re = select(ahead, a, select(behind, flat, re))
    im = select(ahead, with_sign_of(flat, b), select(behind, with_sign_of(abs(a), b), im))
    return complex(select(eq(abs(b), inf), abs(b), re), select(eq(abs(b), inf), b, im))


@means_on_parts(ar.rsqrt_p)
def _rsqrt(x: Any) -> Any:
    return div(filled_like(x, 1), root(x))
