"""What kind of number each element is: finite, infinite, nan, negative."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import is_float
from tinytrace.numpy.elementwise import strong_like
from tinytrace.numpy.promotion import ArrayLike, Value, as_array, check_arraylike, promote_args
from tinytrace.primitives.elementwise import const_like


def isfinite(x: ArrayLike, /) -> Value:
    """Say where `x` is neither infinite nor nan: bool of the shape of `x`.

    >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isfinite.html.
    """
    check_arraylike("isfinite", x)
    return lax.is_finite(x) if is_float(aval_of(x).dtype) else _constant(x, True)


@library_jit(elementwise=True)
def isinf(x: ArrayLike, /) -> Value:
    """Say where `x` is infinite: bool of the shape of `x`.

    >>> jnp.isinf(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([False,  True, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isinf.html.
    """
    check_arraylike("isinf", x)
    return lax.eq(lax.abs(x), strong_like(x, np.inf)) if is_float(aval_of(x).dtype) else _constant(x, False)


def isnan(x: ArrayLike, /) -> Value:
    """Say where `x` is nan: bool of the shape of `x`.

    >>> jnp.isnan(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([False, False,  True], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isnan.html.
    """
    check_arraylike("isnan", x)
    return lax.ne(x, x)


def isposinf(x: ArrayLike, /, out: None = None) -> Value:
    """Say where `x` is +inf: bool of the shape of `x`.

    >>> jnp.isposinf(jnp.array([-jnp.inf, 0.0, jnp.inf]))
    Array([False, False,  True], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isposinf.html.
    """
    return _is_infinity(np.inf, x, out)


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
    if dtype.kind in "iu":
        return lax.lt(x, strong_like(x, 0))
    if dtype.kind == "b":
        return _constant(x, False)
    bits = lax.bitcast_convert_type(x, np.dtype(f"int{8 * dtype.itemsize}"))
    sign = lax.shift_right_arithmetic(bits, strong_like(bits, 8 * dtype.itemsize - 1))
    return lax.convert_element_type(sign, np.bool_)


@library_jit(elementwise=True)
def iscomplex(x: ArrayLike) -> Value:
    """Say where the imaginary part of `x` is not zero: nowhere, for arrays here are real.

    >>> jnp.iscomplex(jnp.array([1.0, 2.0]))
    Array([False, False], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.iscomplex.html.
    """
    imaginary = imag(x)
    return lax.ne(imaginary, const_like(imaginary, 0))


@library_jit(elementwise=True)
def isreal(x: ArrayLike) -> Value:
    """Say where the imaginary part of `x` is zero: everywhere, for arrays here are real.

    >>> jnp.isreal(jnp.array([1.0, 2.0]))
    Array([ True,  True], dtype=bool)

    See https://numpy.org/doc/stable/reference/generated/numpy.isreal.html.
    """
    imaginary = imag(x)
    return lax.eq(imaginary, const_like(imaginary, 0))


def iscomplexobj(x: Any) -> bool:
    """Is the dtype of `x` complex?

    >>> jnp.iscomplexobj(jnp.array([1.0]))
    False

    See https://numpy.org/doc/stable/reference/generated/numpy.iscomplexobj.html.
    """
    return x is not None and np.iscomplexobj(x) if not hasattr(x, "aval") else False


def isrealobj(x: Any) -> bool:
    """Is the dtype of `x` anything but complex?

    >>> jnp.isrealobj(jnp.array([1.0]))
    True

    See https://numpy.org/doc/stable/reference/generated/numpy.isrealobj.html.
    """
    return not iscomplexobj(x)


# --- parts of a complex number, for real numbers ---------------------------------------------------------------

def real(val: ArrayLike, /) -> Value:
    """Return the real part: `val` itself.

    >>> jnp.real(jnp.array([1.0, 2.0]))
    Array([1., 2.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.real.html.
    """
    check_arraylike("real", val)
    return as_array(val)


def imag(val: ArrayLike, /) -> Value:
    """Return the imaginary part: zeros.

    >>> jnp.imag(jnp.array([1.0, 2.0]))
    Array([0., 0.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.imag.html.
    """
    check_arraylike("imag", val)
    return lax.full_like(val, 0)


def conjugate(x: ArrayLike, /) -> Value:
    """Return the complex conjugate: `x` itself.

    >>> jnp.conjugate(jnp.array([1.0, 2.0]))
    Array([1., 2.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.conjugate.html.
    """
    check_arraylike("conjugate", x)
    return as_array(x)


def conj(x: ArrayLike, /) -> Value:
    """Another name of `conjugate`.

    >>> jnp.conj(jnp.array([1.0, 2.0]))
    Array([1., 2.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.conj.html.
    """
    return conjugate(x)


def _constant(x: Any, value: bool) -> Value:
    return lax.full_like(x, value, np.bool_)
