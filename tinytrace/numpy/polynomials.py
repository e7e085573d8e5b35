"""Polynomials as arrays of coefficients, the highest power first."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit, remembered
from tinytrace.core.dtypes import complex_dtype
from tinytrace.numpy.arithmetic import abs, true_divide
from tinytrace.numpy.array_creation import array, asarray, empty, full, ones, zeros
from tinytrace.numpy.comparison import maximum
from tinytrace.numpy.joining import concatenate
from tinytrace.numpy.linalg.factorizations import eigvals
from tinytrace.numpy.masking import choose_where
from tinytrace.numpy.positions import argmin
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    check_arraylike,
    concrete,
    concrete_index,
    promote_dtypes,
    promote_dtypes_inexact,
    warn_unless_arraylike,
)
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.rearranging import roll
from tinytrace.numpy.reductions import all
from tinytrace.numpy.shapes import atleast_1d
from tinytrace.numpy.signal import convolve
from tinytrace.numpy.triangular import diag


@library_jit("unroll")
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Value:
    """Return the values at `x` of the polynomial with coefficients `p: f32[n]`, by Horner's rule.

    >>> jnp.polyval(jnp.array([1.0, 0.0, -1.0]), 3.0)
    Array(8., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.polyval.html.
    """
    check_arraylike("polyval", p, x)
    p, x = promote_dtypes_inexact(p, x)
    y = lax.full_like(x, 0, shape=lax.broadcast_shapes(p.shape[1:], x.shape), dtype=x.dtype)
    y, _ = lax.scan(lambda y, coefficient: (y * x + coefficient, None), y, p, unroll=unroll)
    return y


@library_jit()
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Value:
    """Return the sum of two polynomials.

    >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([3]))
    Array([1, 5], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.polyadd.html.
    """
    check_arraylike("polyadd", a1, a2)
    a1, a2 = promote_dtypes(a1, a2)
    if a2.shape[0] <= a1.shape[0]:
        return a1.at[-a2.shape[0]:].add(a2)
    return a2.at[-a1.shape[0]:].add(a1)


@library_jit()
def polysub(a1: ArrayLike, a2: ArrayLike) -> Value:
    """Return the difference of two polynomials.

    >>> jnp.polysub(jnp.array([1, 2]), jnp.array([3]))
    Array([ 1, -1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.polysub.html.
    """
    check_arraylike("polysub", a1, a2)
    a1, a2 = promote_dtypes(a1, a2)
    return polyadd(a1, -a2)


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Value:
    """Return the product of two polynomials.

    >>> jnp.polymul(jnp.array([1, 1]), jnp.array([1, -1]))
    Array([ 1.,  0., -1.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.polymul.html.
    """
    check_arraylike("polymul", a1, a2)
    a1, a2 = promote_dtypes_inexact(a1, a2)
    if trim_leading_zeros and (len(a1) > 1 or len(a2) > 1):
        a1, a2 = trim_zeros(a1, trim="f"), trim_zeros(a2, trim="f")
    a1 = asarray([0], dtype=a2.dtype) if len(a1) == 0 else a1
    a2 = asarray([0], dtype=a1.dtype) if len(a2) == 0 else a2
    return convolve(a1, a2, mode="full")


@remembered("trim_leading_zeros")
def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Value, Value]:
    """Return quotient and rest of the division of two polynomials.

    >>> jnp.polydiv(jnp.array([1.0, 0.0, -1.0]), jnp.array([1.0, 1.0]))
    (Array([ 1., -1.], dtype=float32), Array([0., 0., 0.], dtype=float32))

    See https://numpy.org/doc/stable/reference/generated/numpy.polydiv.html.
    """
    check_arraylike("polydiv", u, v)
    u, v = promote_dtypes_inexact(u, v)
    m, n = len(u) - 1, len(v) - 1
    scale = 1.0 / v[0]
    quotient = zeros(max(m - n + 1, 1), dtype=u.dtype)
    for k in range(m - n + 1):
        d = scale * u[k]
        quotient = quotient.at[k].set(d)
        u = u.at[k:k + n + 1].add(-d * v)
    if trim_leading_zeros:
        u = _trimmed(u, abs(u) < np.sqrt(np.finfo(u.dtype).eps), "f")
    return quotient, u


@library_jit("m")
def polyder(p: ArrayLike, m: int = 1) -> Value:
    """Return the derivative of order `m`.

    >>> jnp.polyder(jnp.array([1.0, 2.0, 3.0]))
    Array([2., 2.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.polyder.html.
    """
    check_arraylike("polyder", p)
    m = concrete_index(m, "'m' argument of jnp.polyder")
    p, = promote_dtypes_inexact(p)
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    if m == 0:
        return p
    powers = (arange(m, len(p), dtype=p.dtype)[None] - arange(m, dtype=p.dtype)[:, None]).prod(0)
    return p[:-m] * powers[::-1]


@library_jit("m")
def polyint(p: ArrayLike, m: int = 1, k: Any = None) -> Value:
    """Return the integral of order `m`, with constants `k`.

    >>> jnp.polyint(jnp.array([2.0, 2.0]))
    Array([1., 2., 0.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.polyint.html.
    """
    m = concrete_index(m, "'m' argument of jnp.polyint")
    k = 0 if k is None else k
    check_arraylike("polyint", p, k)
    p, k = promote_dtypes_inexact(p, k)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = atleast_1d(k)
    if len(k) == 1:
        k = full((m,), k[0])
    if k.shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    if m == 0:
        return p
    powers = arange(len(p) + m, dtype=p.dtype)[None] - arange(m, dtype=p.dtype)[:, None]
    factors = maximum(1, powers).prod(0)[::-1]
    return true_divide(concatenate((p, k)), factors)


@library_jit()
def poly(seq_of_zeros: ArrayLike) -> Value:
    """Return the coefficients of the polynomial with the given zeros, or the eigenvalues of a matrix: f32[n + 1].

    >>> jnp.poly(jnp.array([1.0, -1.0]))
    Array([ 1.,  0., -1.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.poly.html.
    """
    check_arraylike("poly", seq_of_zeros)
    zeros_, = promote_dtypes_inexact(seq_of_zeros)
    zeros_ = atleast_1d(zeros_)
    if zeros_.ndim == 2 and zeros_.shape[0] == zeros_.shape[1] != 0:
        zeros_ = eigvals(zeros_)
    if zeros_.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if len(zeros_) == 0:
        return ones((), dtype=zeros_.dtype)
    result = ones((1,), dtype=zeros_.dtype)
    for k in range(len(zeros_)):
        result = convolve(result, array([1, -zeros_[k]], dtype=zeros_.dtype), mode="full")
    return result


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Value:
    """Return the zeros c64[n] of the polynomial with coefficients p: f32[n + 1].

    strip_zeros: leave leading coefficients of 0 out, for which values must be known; otherwise missing zeros are nan.

    >>> jnp.roots(jnp.array([1.0, 0.0, 1.0]))
    Array([-0.+1.j, -0.-1.j], dtype=complex64)

    See https://numpy.org/doc/stable/reference/generated/numpy.roots.html.
    """
    check_arraylike("roots", p)
    p = atleast_1d(promote_dtypes_inexact(p)[0])
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if p.size < 2:
        return array([], dtype=complex_dtype(p.dtype))
    leading = choose_where(all(p == 0), len(p), argmin(p == 0))
    if not strip_zeros:
        return _roots_with_zeros(p, leading)
    leading = concrete(leading, "The error occurred in the jnp.roots() function. To use this within a JIT-compiled "
                                "context, pass strip_zeros=False, but be aware that leading zeros will result in some "
                                "returned roots being set to NaN.")
    return _roots_no_zeros(p[int(leading):])


@library_jit()
def _roots_no_zeros(p: Value) -> Value:
    """Return the eigenvalues of the companion matrix."""
    if p.size < 2:
        return array([], dtype=complex_dtype(p.dtype))
    companion = diag(ones((p.size - 2,), p.dtype), -1)
    return eigvals(companion.at[0, :].set(-p[1:] / p[0]))


@library_jit()
def _roots_with_zeros(p: Value, leading: Value) -> Value:
    p = choose_where(len(p) == leading, 1.0, p)  # all of them are zero
    found = _roots_no_zeros(roll(p, -leading))
    found = lax.sort_key_val(found == 0, found)[1]
    return choose_where(arange(found.size) < found.size - leading, found, complex(np.nan, np.nan))


def trim_zeros(filt: ArrayLike, trim: str = "fb") -> Value:
    """Return a vector without the zeros at its front ("f"), its back ("b"), or both.

    >>> jnp.trim_zeros(jnp.array([0, 1, 2, 0]))
    Array([1, 2], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.trim_zeros.html.
    """
    warn_unless_arraylike("trim_zeros", filt)
    arr = asarray(concrete(filt, "Error arose in the `filt` argument of trim_zeros()"))
    if arr.ndim != 1:
        warnings.warn("Passing arrays with ndim != 1 to jnp.trim_zeros() is deprecated. Currently, it works with "
                      "Arrays having ndim != 1. In the future this will result in an error.", DeprecationWarning,
                      stacklevel=2)
    return _trimmed(arr, arr == 0, trim)


def _trimmed(arr: Value, is_zero: Value, trim: str) -> Value:
    if all(is_zero):
        return empty(0, arr.dtype)
    start = argmin(is_zero) if "f" in trim.lower() else 0
    end = argmin(is_zero[::-1]) if "b" in trim.lower() else 0
    return arr[int(start):len(arr) - int(end)]
