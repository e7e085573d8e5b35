"""What kind of number each element is: finite, infinite, nan, negative."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.array import Array
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import is_complex, is_float, is_integer
from tinytrace.core.storage_types import STORAGE_TYPES
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.elementwise import strong_like
from tinytrace.numpy.promotion import ArrayLike, Value, as_array, check_arraylike, promote_args
from tinytrace.primitives.elementwise import const_like


@remembered(elementwise=True)
def isfinite(x: ArrayLike, /) -> Value:
    """Say where `x` is neither infinite nor nan: bool of the shape of `x`.

    >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isfinite.html.
    """
    check_arraylike("isfinite", x)
    if is_complex(aval_of(x).dtype):
        return lax.bitwise_and(lax.is_finite(real(x)), lax.is_finite(imag(x)))
    return lax.is_finite(x) if is_float(aval_of(x).dtype) else _constant(x, True)


@library_jit(elementwise=True)
def isinf(x: ArrayLike, /) -> Value:
    """Say where `x` is infinite: bool of the shape of `x`.

    >>> jnp.isinf(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([False,  True, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isinf.html.
    """
    check_arraylike("isinf", x)
    if is_complex(aval_of(x).dtype):
        re, im = lax.real(x), lax.imag(x)
        inf = strong_like(re, np.inf)
        return lax.bitwise_or(lax.eq(lax.abs(re), inf), lax.eq(lax.abs(im), inf))
    return lax.eq(lax.abs(x), strong_like(x, np.inf)) if is_float(aval_of(x).dtype) else _constant(x, False)


@remembered(elementwise=True)
def isnan(x: ArrayLike, /) -> Value:
    """Say where `x` is nan: bool of the shape of `x`.

    >>> jnp.isnan(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([False, False,  True], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isnan.html.
    """
    check_arraylike("isnan", x)
    return lax.ne(x, x)


@remembered("out", elementwise=True)
def isposinf(x: ArrayLike, /, out: None = None) -> Value:
    """Say where `x` is +inf: bool of the shape of `x`.

    >>> jnp.isposinf(jnp.array([-jnp.inf, 0.0, jnp.inf]))
    Array([False, False,  True], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isposinf.html.
    """
    return _is_infinity(np.inf, x, out)


@remembered("out", elementwise=True)
def isneginf(x: ArrayLike, /, out: None = None) -> Value:
    """Say where `x` is -inf: bool of the shape of `x`.

    >>> jnp.isneginf(jnp.array([-jnp.inf, 0.0, jnp.inf]))
    Array([ True, False, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isneginf.html.
    """
    return _is_infinity(-np.inf, x, out)


def _is_infinity(infinity: float, x: ArrayLike, out: None) -> Value:
    if out is not None:
        raise NotImplementedError("The 'out' argument to isneginf/isposinf is not supported.")
    if is_complex(aval_of(x).dtype):
        raise ValueError("isposinf/isneginf are not well defined for complex types")
    return lax.eq(x, strong_like(x, infinity)) if is_float(aval_of(x).dtype) else _constant(x, False)


@library_jit(elementwise=True)
def signbit(x: ArrayLike, /) -> Value:
    """Say where the sign of `x` is negative, also for -0.0 and nan: bool of the shape of `x`.

    >>> jnp.signbit(jnp.array([-1.0, -0.0, 0.0]))
    Array([ True,  True, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.signbit.html.
    """
    x, = promote_args("signbit", x)
    dtype = aval_of(x).dtype
    if is_integer(dtype):
        return lax.lt(x, strong_like(x, 0))
    if dtype.kind == "b":
        return _constant(x, False)
    if is_complex(dtype):
        raise ValueError(f"jax.numpy.signbit is not well defined for {dtype}")
    if dtype in STORAGE_TYPES:
        raise NotImplementedError("jax.numpy.signbit only supports 16, 32, and 64-bit types.")
    bits = lax.bitcast_convert_type(x, np.dtype(f"int{8 * dtype.itemsize}"))
    sign = lax.shift_right_arithmetic(bits, strong_like(bits, 8 * dtype.itemsize - 1))
    return lax.convert_element_type(sign, np.bool_)


@library_jit(elementwise=True)
def iscomplex(x: ArrayLike) -> Value:
    """Say where the imaginary part of `x` is not zero: bool of the shape of `x`.

    >>> jnp.iscomplex(jnp.array([1.0, 2j]))
    Array([False,  True], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.iscomplex.html.
    """
    imaginary = imag(x)
    return lax.ne(imaginary, const_like(imaginary, 0))


@library_jit(elementwise=True)
def isreal(x: ArrayLike) -> Value:
    """Say where the imaginary part of `x` is zero: bool of the shape of `x`.

    >>> jnp.isreal(jnp.array([1.0, 2j]))
    Array([ True, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isreal.html.
    """
    imaginary = imag(x)
    return lax.eq(imaginary, const_like(imaginary, 0))


def iscomplexobj(x: Any) -> bool:
    """Is the dtype of `x` complex?

    >>> jnp.iscomplexobj(jnp.array([1j]))
    True

    See https://numpy.org/doc/stable/reference/generated/numpy.iscomplexobj.html.
    """
    if x is None:
        return False
    dtype = getattr(x, "dtype", None)
    return is_complex(asarray(x).dtype if dtype is None else dtype)


def isrealobj(x: Any) -> bool:
    """Is the dtype of `x` anything but complex?

    >>> jnp.isrealobj(jnp.array([1.0]))
    True

    See https://numpy.org/doc/stable/reference/generated/numpy.isrealobj.html.
    """
    return not iscomplexobj(x)


# --- parts of a complex number ---------------------------------------------------------------------------------

@remembered(elementwise=True)
def real(val: ArrayLike, /) -> Value:
    """Return the real part: of real numbers `val` itself.

    >>> jnp.real(jnp.array([1 - 2j, 3.0]))
    Array([1., 3.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.real.html.
    """
    if type(val) is Array and not is_complex(val.dtype):
        return val
    check_arraylike("real", val)
    return lax.real(val) if iscomplexobj(val) else as_array(val)


@remembered()
def imag(val: ArrayLike, /) -> Value:
    """Return the imaginary part: of real numbers zeros.

    >>> jnp.imag(jnp.array([1 - 2j, 3.0]))
    Array([-2.,  0.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.imag.html.
    """
    check_arraylike("imag", val)
    return lax.imag(val) if iscomplexobj(val) else lax.full_like(val, 0)


@remembered(elementwise=True)
def conjugate(x: ArrayLike, /) -> Value:
    """Return the complex conjugate: of real numbers `x` itself.

    >>> jnp.conjugate(jnp.array([1 - 2j, 3.0]))
    Array([1.+2.j, 3.-0.j], dtype=complex64)

    See https://numpy.org/doc/stable/reference/generated/numpy.conjugate.html.
    """
    check_arraylike("conjugate", x)
    return lax.conj(x) if iscomplexobj(x) else as_array(x)


@remembered(elementwise=True)
def conj(x: ArrayLike, /) -> Value:
    """Another name of `conjugate`.

    >>> jnp.conj(jnp.array([1 - 2j, 3.0]))
    Array([1.+2.j, 3.-0.j], dtype=complex64)

    See https://numpy.org/doc/stable/reference/generated/numpy.conj.html.
    """
    return conjugate(x)


def _constant(x: Any, value: bool) -> Value:
    return lax.full_like(x, value, np.bool_)
