"""Arithmetic: sums, products, quotients, extremes, fixed powers and roots.

Integers wrap. An integer divided by zero gives -1 (all bits set) and leaves itself as remainder; the smallest integer
divided by -1 gives itself. max and min propagate NaN and know that -0 is less than 0.
"""
from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import DType, dtype_of, is_complex, is_inexact, part_dtype
from tinytrace.core.formulas import Formula, call, choose, follows, product
from tinytrace.core.kinds import IndexMap, Kind, literal
from tinytrace.core.tangents import Zero, is_undefined_primal
from tinytrace.primitives import arithmetic_in_numpy
from tinytrace.primitives.comparison import eq, ge
from tinytrace.primitives.complex_numbers import conj, real
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.elementwise import (
    ANY,
    FLOAT,
    INEXACT,
    NUMBER,
    REAL,
    SIGNED,
    Elementwise,
    broadcast_operands,
    const_like,
    filled_like,
    function,
    maybe_broadcast,
    neg,
    operand_aval,
    unbroadcast,
    zero_like,
)
from tinytrace.primitives.rounding import floor, sign
from tinytrace.primitives.select import select


def add(x: Any, y: Any) -> Any:
    """Add, element by element; integers wrap.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.add.html.

    >>> add(np.int8(127), np.int8(1))
    Array(-128, dtype=int8)
    """
    return add_p.bind(x, y)


def sub(x: Any, y: Any) -> Any:
    """Subtract, element by element; integers wrap.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.sub.html.

    >>> sub(np.uint8(1), np.uint8(2))
    Array(255, dtype=uint8)
    """
    return sub_p.bind(x, y)


def mul(x: Any, y: Any) -> Any:
    """Multiply, element by element; integers wrap.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.mul.html.

    >>> mul(np.float32(1.5), np.float32(2))
    Array(3., dtype=float32)
    """
    return mul_p.bind(x, y)


def div(x: Any, y: Any) -> Any:
    """Divide, element by element; integers towards zero, by zero -1, the smallest one by -1 itself.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.div.html.

    >>> div(np.int32([7, -7, 7]), np.int32([2, 2, 0]))
    Array([ 3, -3, -1], dtype=int32)
    """
    return div_p.bind(x, y)


def rem(x: Any, y: Any) -> Any:
    """Return the remainder of `div`: it has the sign of `x`, and is `x` for integers where `y` is zero.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.rem.html.

    >>> rem(np.int32([7, -7, 7]), np.int32([3, 3, 0]))
    Array([ 1, -1,  7], dtype=int32)
    """
    return rem_p.bind(x, y)


def abs(x: Any) -> Any:
    """Return the distance from zero; the smallest integer wraps to itself.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.abs.html.

    >>> abs(np.int8(-128))
    Array(-128, dtype=int8)
    """
    return abs_p.bind(x)


def max(x: Any, y: Any) -> Any:
    """Return the greater of `x` and `y`, element by element; NaN if either is NaN.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.max.html.

    >>> max(np.float32([1, 2]), np.float32(1.5))
    Array([1.5, 2. ], dtype=float32)
    """
    return max_p.bind(x, y)


def min(x: Any, y: Any) -> Any:
    """Return the lesser of `x` and `y`, element by element; NaN if either is NaN.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.min.html.

    >>> min(np.float32([1, 2]), np.float32(1.5))
    Array([1. , 1.5], dtype=float32)
    """
    return min_p.bind(x, y)


def integer_pow(x: Any, y: int) -> Any:
    """Raise `x` to the fixed integer power `y` by repeated multiplication.

    Raises: TypeError for integers and a negative `y`.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.integer_pow.html.

    >>> integer_pow(np.float32(3), -2)
    Array(0.11111111, dtype=float32)
    """
    return integer_pow_p.bind(x, y=operator.index(y))


def square(x: Any) -> Any:
    """Return `x * x`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.square.html.

    >>> square(np.int32(-3))
    Array(9, dtype=int32)
    """
    return integer_pow(x, 2)


def reciprocal(x: Any) -> Any:
    """Return `1 / x`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.reciprocal.html.

    >>> reciprocal(np.float32(4))
    Array(0.25, dtype=float32)
    """
    return integer_pow(x, -1)


def sqrt(x: Any) -> Any:
    """Return the square root; NaN below zero.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.sqrt.html.

    >>> sqrt(np.float32(2))
    Array(1.4142135, dtype=float32)
    """
    return sqrt_p.bind(x)


def rsqrt(x: Any) -> Any:
    """Return `1 / sqrt(x)`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.rsqrt.html.

    >>> rsqrt(np.float32(4))
    Array(0.5, dtype=float32)
    """
    return rsqrt_p.bind(x)


def cbrt(x: Any) -> Any:
    """Return the real cube root, negative below zero.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.cbrt.html.

    >>> cbrt(np.float32(-27))
    Array(-3., dtype=float32)
    """
    return cbrt_p.bind(x)



# --- rooms -----------------------------------------------------------------------------------------------------

class Add(Elementwise):
    """`add x y`: linear in both operands together."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out, (g, h) = add(*primals), tangents
        if type(g) is Zero or type(h) is Zero:
            return out, maybe_broadcast(np.shape(out), h if type(g) is Zero else g)
        return out, add(g, h)

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        return [unbroadcast(operand_aval(x), ct) for x in args]


class Sub(Elementwise):
    """`sub x y`: linear in both operands together."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out, (g, h) = sub(*primals), tangents
        if type(g) is Zero or type(h) is Zero:
            return out, maybe_broadcast(np.shape(out), neg(h) if type(g) is Zero else g)
        return out, sub(g, h)

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        x, y = args
        return [unbroadcast(operand_aval(x), ct), unbroadcast(operand_aval(y), neg(ct))]


class Mul(Elementwise):
    """`mul x y`: linear in each operand."""

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        x, y = args
        if is_undefined_primal(x):
            return [unbroadcast(x.aval, mul(ct, y)), None]
        return [None, unbroadcast(y.aval, mul(x, ct))]


class Div(Elementwise):
    """`div x y`: linear in the first operand."""

    def transpose(self, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
        x, y = args
        return [unbroadcast(x.aval, div(ct, y)), None]


class Magnitude(Elementwise):
    """`abs x: c64[n]` is f32[n]; of real numbers it keeps the type."""

    def result_dtype(self, *avals: ShapedArray, **params: Any) -> DType:
        return part_dtype(avals[0].dtype)


_AS_UFUNCS: dict[int, np.ufunc] = {2: np.square, -1: np.reciprocal}
"""Powers that one ufunc computes, with the bits of `arithmetic_in_numpy.integer_pow`."""


class IntegerPow(Elementwise):
    """`integer_pow[y=3] x`: the exponent is part of the program."""

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        aval = super().abstract_eval(*avals, **params)
        if params["y"] < 0 and not is_inexact(aval.dtype):
            raise TypeError("Integers cannot be raised to negative powers, got "
                            f"integer_pow({avals[0]}, {params['y']})")
        return aval

    def in_numpy(self, params: dict[str, Any]) -> Callable[..., Any]:
        return _AS_UFUNCS.get(params["y"]) or super().in_numpy(params)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        if params["y"] == 0:  # whatever the operand is, NaN too
            return IndexMap(lambda i, read: literal(1, out_avals[0].dtype))
        return super().lower(in_avals, out_avals, **params)


# --- meanings in C ---------------------------------------------------------------------------------------------

WRITTEN_OUT = 16
"""Powers up to this one are products of squares; larger ones are a loop."""


def _power(x: Formula, *, y: int) -> Formula:
    size = builtins.abs(y)
    product = _product(x, size) if size <= WRITTEN_OUT else call("powi", x, size)
    return 1 / product if y < 0 else product


def _product(x: Formula, y: int) -> Formula:
    """Return x to the power y as products of squares, the order of XLA; the C compiler shares equal parts."""
    if y == 3:
        return x * x * x
    factors, power = [], x
    while y:
        if y & 1:
            factors.append(power)
        y >>= 1
        power = power * power
    return functools.reduce(operator.mul, factors)


# --- tangents --------------------------------------------------------------------------------------------------

def _share(x: Any, out: Any, y: Any) -> Any:
    """Return how much of the extreme `out` belongs to `x`: all, none, or half when `y` is equal."""
    mine = select(eq(x, out), filled_like(out, 1), filled_like(out, 0))
    return div(mine, select(eq(y, out), filled_like(out, 2), filled_like(out, 1)))


def _abs_tangent(g: Any, out: Any, x: Any) -> Any:
    if not is_complex(dtype_of(x)):
        return select(ge(x, zero_like(x)), g, neg(g))
    turned = conj(x)
    size = convert_element_type(out, dtype_of(x))
    size = select(eq(size, const_like(size, 0)), filled_like(size, 1), size)
    return real(mul(g, div(turned, size)))


def _rem_tangent(g: Any, out: Any, x: Any, y: Any) -> Any:
    return maybe_broadcast(broadcast_operands("rem", operand_aval(x), operand_aval(y)), g)


def _integer_pow_tangent(g: Any, out: Any, x: Any, *, y: int) -> Any:
    return filled_like(g, 0) if y == 0 else mul(g, mul(const_like(x, y), integer_pow(x, y - 1)))


add_p = Add("add", [NUMBER, NUMBER], np.add, {"fiuc": lambda x, y: x + y}, laws="commutative")
sub_p = Sub("sub", [NUMBER, NUMBER], np.subtract, {"fiuc": lambda x, y: x - y})
mul_p = Mul("mul", [NUMBER, NUMBER], np.multiply, {"fiuc": product},
            lambda g, out, x, y: mul(g, y),
            lambda g, out, x, y: mul(x, g), laws="commutative")
div_p = Div("div", [NUMBER, NUMBER], arithmetic_in_numpy.div, {"f": lambda x, y: x / y, "iu": function("div")},
            lambda g, out, x, y: div(g, y),
            lambda g, out, x, y: mul(mul(neg(g), x), integer_pow(y, -2)))
rem_p = Elementwise("rem", [REAL, REAL], arithmetic_in_numpy.rem, function("rem"),
                    _rem_tangent,
                    lambda g, out, x, y: mul(neg(g), mul(sign(div(x, y)), floor(abs(div(x, y))))), ulp=0)
max_p = Elementwise("max", [ANY, ANY], arithmetic_in_numpy.max,
                    {"f": function("max"), "iubc": lambda x, y: choose(follows(x, y), x, y)},
                    lambda g, out, x, y: mul(g, _share(x, out, y)),
                    lambda g, out, x, y: mul(g, _share(y, out, x)),
                    ulp=0, laws="commutative associative idempotent monotone")
min_p = Elementwise("min", [ANY, ANY], arithmetic_in_numpy.min,
                    {"f": function("min"), "iubc": lambda x, y: choose(follows(y, x), x, y)},
                    lambda g, out, x, y: mul(g, _share(x, out, y)),
                    lambda g, out, x, y: mul(g, _share(y, out, x)),
                    ulp=0, laws="commutative associative idempotent monotone")

abs_p = Magnitude("abs", SIGNED, np.abs, {"f": function("abs"), "i": lambda x: choose(x < 0, -x, x)},
                    _abs_tangent, ulp=0, laws="even idempotent")
integer_pow_p = IntegerPow("integer_pow", NUMBER, arithmetic_in_numpy.integer_pow, _power, _integer_pow_tangent)
sqrt_p = Elementwise("sqrt", INEXACT, np.sqrt, function("sqrt"),
                     lambda g, out, x: mul(g, div(const_like(x, 0.5), out)), ulp=0.5, laws="monotone")
rsqrt_p = Elementwise("rsqrt", INEXACT, arithmetic_in_numpy.rsqrt, lambda x: 1 / call("sqrt", x),
                      lambda g, out, x: mul(g, mul(const_like(x, -0.5), div(out, x))), ulp=1.5)
cbrt_p = Elementwise("cbrt", FLOAT, np.cbrt, function("cbrt"),
                     lambda g, out, x: mul(g, mul(const_like(x, 1 / 3), integer_pow(out, -2))),
                     ulp=(0.51, 1), laws="monotone odd")
