"""The bits of floats, and functions that are careful at their edges: signs, neighbours, mantissas, hypot, sinc."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import FLOAT16, INT32, is_complex, is_float, is_inexact
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.classification import imag, isinf, isnan, isneginf, isposinf, real, signbit
from tinytrace.numpy.comparison import maximum, minimum
from tinytrace.numpy.elementwise import inexact_binary
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    as_array,
    check_arraylike,
    convert,
    float_dtype,
    promote_args_inexact,
    promote_dtypes_inexact,
)
from tinytrace.numpy.scalar_types import finfo
from tinytrace.numpy.trigonometric import rad2deg
from tinytrace.primitives.elementwise import const_like

nextafter = inexact_binary("nextafter", lax.nextafter, """Return the float next to `x` in the direction of `y`.

    >>> jnp.nextafter(0.0, 1.0)
    Array(1.e-45, dtype=float32, weak_type=True)
    """)


@library_jit(elementwise=True)
def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return the magnitude of `x1` with the sign of `x2`.

    >>> jnp.copysign(3.0, jnp.array([-1.0, 1.0]))
    Array([-3.,  3.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.copysign.html.
    """
    x1, x2 = promote_args_inexact("copysign", x1, x2)
    if is_complex(aval_of(x1).dtype):
        raise TypeError("copysign does not support complex-valued inputs")
    return choose_where(signbit(x2), lax.neg(lax.abs(x1)), lax.abs(x1))


@remembered()
def spacing(x: ArrayLike, /) -> Value:
    """Return the distance from `x` to the next float away from zero.

    >>> jnp.spacing(1.0)
    Array(1.1920929e-07, dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.spacing.html.
    """
    x, = promote_args_inexact("spacing", x)
    if is_complex(aval_of(x).dtype):
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    infinity = const_like(x, np.inf)
    if aval_of(x).dtype == FLOAT16:
        return lax.sub(lax.nextafter(x, infinity), x)
    smallest = finfo(aval_of(x).dtype).smallest_subnormal
    result = lax.sub(lax.nextafter(x, copysign(infinity, x)), x)
    return choose_where(lax.eq(result, const_like(result, 0)), copysign(smallest, x), result)


@library_jit(elementwise=True)
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return `x1 * 2 ** x2` for integers `x2`.

    >>> jnp.ldexp(3.0, 2)
    Array(12., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.ldexp.html.
    """
    check_arraylike("ldexp", x1, x2)
    if is_complex(aval_of(x1).dtype) or is_inexact(aval_of(x2).dtype):
        raise ValueError(f"ldexp not supported for input types {(aval_of(x1).dtype, aval_of(x2).dtype)}")
    x1, = promote_args_inexact("ldexp", x1)
    x2 = convert(x2, aval_of(x1).dtype)
    scaled = x1 * 2 ** x2
    return choose_where(isinf(x1) | (x1 == 0), x1, scaled)


@library_jit()
def frexp(x: ArrayLike, /) -> tuple[Value, Value]:
    """Return mantissa in [0.5, 1) and exponent i32 of each element: `x == mantissa * 2 ** exponent`.

    >>> jnp.frexp(6.0)
    (Array(0.75, dtype=float32), Array(3, dtype=int32))

    See https://numpy.org/doc/stable/reference/generated/numpy.frexp.html.
    """
    check_arraylike("frexp", x)
    x, = promote_dtypes_inexact(x)
    dtype = aval_of(x).dtype
    if is_complex(dtype):
        raise TypeError("frexp does not support complex-valued inputs")
    info = finfo(dtype)
    mask, bias = (1 << info.nexp) - 1, 1 - info.minexp
    bits, exponent = _normalized(x, info)
    exponent = exponent + ((bits >> info.nmant & mask) - bias + 1)
    bits = bits & ~(mask << info.nmant)
    bits = bits | (bias - 1 << info.nmant)
    mantissa = lax.bitcast_convert_type(bits, dtype)
    keeps = isinf(x) | isnan(x) | (x == 0)
    exponent = choose_where(keeps, lax.full_like(exponent, 0), exponent)
    return choose_where(keeps, x, mantissa), convert(exponent, INT32)


def _normalized(x: Value, info: Any) -> tuple[Value, Value]:
    """Scale denormals up: return the bits of the scaled `x` and the exponent to correct by."""
    integer = np.dtype(f"int{info.bits}").type
    denormal = lax.abs(x) < info.tiny
    scaled = choose_where(denormal, x * const_like(x, 1 << info.nmant), x)
    correction = choose_where(denormal, integer(-info.nmant), integer(0))
    return lax.bitcast_convert_type(scaled, np.dtype(integer)), correction


@library_jit(elementwise=True)
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return `sqrt(x1**2 + x2**2)` without overflow.

    >>> jnp.hypot(3.0, 4.0)
    Array(5., dtype=float32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.hypot.html.
    """
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if is_complex(aval_of(x1).dtype):
        raise ValueError("jnp.hypot is not well defined for complex-valued inputs. Please convert to real values "
                         "first, such as by using abs(x)")
    x1, x2 = lax.abs(x1), lax.abs(x2)
    infinite = lax.bitwise_or(isposinf(x1), isposinf(x2))
    x1, x2 = maximum(x1, x2), minimum(x1, x2)
    zero, ratio = x1 == 0, lax.div(x2, choose_where(x1 == 0, lax.full_like(x1, 1), x1))
    length = choose_where(zero, x1, x1 * lax.sqrt(1 + lax.square(ratio)))
    return choose_where(infinite, const_like(length, np.inf), length)


@library_jit(elementwise=True)
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Value:
    """Return the step function: 0 where `x1 < 0`, 1 where `x1 > 0`, and `x2` where it is 0.

    >>> jnp.heaviside(jnp.array([-1.0, 0.0, 2.0]), 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.heaviside.html.
    """
    check_arraylike("heaviside", x1, x2)
    x1, x2 = promote_dtypes_inexact(x1, x2)
    zero = const_like(x1, 0)
    return choose_where(lax.lt(x1, zero), zero, choose_where(lax.gt(x1, zero), const_like(x1, 1), x2))


@library_jit("deg", elementwise=True)
def angle(z: ArrayLike, deg: bool = False) -> Value:
    """Return the angle of each number in the complex plane: 0 for positive, pi for negative real numbers.

    >>> jnp.angle(jnp.array([1.0, -1.0]))
    Array([0.       , 3.1415927], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.angle.html.
    """
    re, im = real(z), imag(z)
    if not is_float(aval_of(re).dtype) or (is_float(aval_of(z).dtype) and np.ndim(z) == 0):
        re, im = convert(re, float_dtype()), convert(im, float_dtype())
    result = lax.atan2(im, re)
    return rad2deg(result) if deg else result


@library_jit(elementwise=True)
def nan_to_num(x: ArrayLike, copy: bool = True, nan: ArrayLike = 0.0, posinf: ArrayLike | None = None,
               neginf: ArrayLike | None = None) -> Value:
    """Replace nan by `nan` and infinities by the largest floats, or by `posinf` and `neginf`.

    >>> jnp.nan_to_num(jnp.array([1.0, jnp.nan, jnp.inf]), posinf=9.0)
    Array([1., 0., 9.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.nan_to_num.html.
    """
    del copy
    check_arraylike("nan_to_num", x)
    dtype = aval_of(x).dtype
    if not is_inexact(dtype):
        return as_array(x)
    if is_complex(dtype):
        return lax.complex(nan_to_num(lax.real(x), nan=nan, posinf=posinf, neginf=neginf),
                           nan_to_num(lax.imag(x), nan=nan, posinf=posinf, neginf=neginf))
    info = finfo(dtype)
    posinf = info.max if posinf is None else posinf
    neginf = info.min if neginf is None else neginf
    x = choose_where(isnan(x), asarray(nan, dtype=dtype), x)
    x = choose_where(isposinf(x), asarray(posinf, dtype=dtype), x)
    return choose_where(isneginf(x), asarray(neginf, dtype=dtype), x)


# --- functions with their own derivative -----------------------------------------------------------------------

@library_jit(elementwise=True)
def sinc(x: ArrayLike, /) -> Value:
    """Return `sin(pi x) / (pi x)`, which is 1 at zero.

    >>> jnp.sinc(jnp.array([0.0, 0.5]))
    Array([1.        , 0.63661975], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.sinc.html.
    """
    check_arraylike("sinc", x)
    x, = promote_dtypes_inexact(x)
    at_zero = lax.eq(x, const_like(x, 0))
    angle = lax.mul(const_like(x, np.pi), x)
    safe = choose_where(at_zero, const_like(x, 1), angle)
    return choose_where(at_zero, _sinc_derivative(0, angle), lax.div(lax.sin(safe), safe))


@partial(custom_jvp, nondiff_argnums=(0,))
def _sinc_derivative(k: int, x: Value) -> Value:
    """The kth derivative of sin(x)/x at zero, in the shape of `x`."""
    if k % 2:
        return x * 0
    return x * 0 + const_like(x, (-1) ** (k // 2) / (k + 1))


@_sinc_derivative.defjvp
def _sinc_derivative_jvp(k: int, primals: tuple[Any], tangents: tuple[Any]) -> tuple[Value, Value]:
    (x,), (t,) = primals, tangents
    return _sinc_derivative(k, x), _sinc_derivative(k + 1, x) * t

