"""Convolution, windows, and signals taken from a table: convolve, correlate, hanning, interp, unwrap."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.api.autodiff import jvp
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.jit import jit
from tinytrace.api.library import library_jit
from tinytrace.core.dtypes import is_complex, is_float
from tinytrace.numpy.arithmetic import abs, mod
from tinytrace.numpy.array_creation import asarray, ones
from tinytrace.numpy.classification import conj
from tinytrace.numpy.cumulative import cumsum, diff
from tinytrace.numpy.exponential import sqrt
from tinytrace.numpy.joining import concatenate
from tinytrace.numpy.positions import searchsorted
from tinytrace.numpy.promotion import (
    ArrayLike,
    DTypeLike,
    Value,
    check_arraylike,
    concrete,
    float_dtype,
    promote_args_inexact,
    promote_dtypes,
    promote_dtypes_inexact,
)
from tinytrace.numpy.rearranging import flip
from tinytrace.numpy.searching import clip, where
from tinytrace.numpy.trigonometric import cos


@library_jit("mode", "precision", "preferred_element_type")
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full", *, precision: Any = None,
             preferred_element_type: DTypeLike = None) -> Value:
    """Return the convolution of two vectors: where they overlap at all ("full"), "same" as long, or entirely ("valid").

    >>> jnp.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
    Array([1., 3., 5., 3.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.convolve.html.
    """
    check_arraylike("convolve", a, v)
    return _conv(asarray(a), asarray(v), mode=mode, op="convolve", precision=precision,
                 preferred_element_type=preferred_element_type)


@library_jit("mode", "precision", "preferred_element_type")
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid", *, precision: Any = None,
              preferred_element_type: DTypeLike = None) -> Value:
    """Return the correlation of two vectors: the sums of products as `v` slides along `a`.

    >>> jnp.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
    Array([3., 5.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.correlate.html.
    """
    check_arraylike("correlate", a, v)
    return _conv(asarray(a), asarray(v), mode=mode, op="correlate", precision=precision,
                 preferred_element_type=preferred_element_type)


@library_jit("mode", "op", "precision", "preferred_element_type")
def _conv(x: Value, y: Value, mode: str, op: str, precision: Any, preferred_element_type: Any = None) -> Value:
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{op}() only support 1-dimensional inputs.")
    x, y = (promote_dtypes_inexact if preferred_element_type is None else promote_dtypes)(x, y)
    if len(x) == 0 or len(y) == 0:
        raise ValueError(f"{op}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    order = slice(None)
    if op == "correlate":
        y = conj(y)
        if len(x) < len(y):
            x, y, order = y, x, slice(None, None, -1)
    else:
        if len(x) < len(y):
            x, y = y, x
        y = flip(y)
    n = y.shape[0]
    paddings = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}
    if mode not in paddings:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    result = lax.conv_general_dilated(x[None, None, :], y[None, None, :], (1,), [paddings[mode]], precision=precision,
                                      preferred_element_type=preferred_element_type)
    return result[0, 0, order]


# --- windows ---------------------------------------------------------------------------------------------------

def blackman(M: int) -> Value:
    """Return the Blackman window f32[M].

    >>> jnp.blackman(3).shape
    (3,)

    See https://numpy.org/doc/stable/reference/generated/numpy.blackman.html.
    """
    M, n = _window("blackman", M)
    if n is None:
        return ones(M, float_dtype())
    return 0.42 - 0.5 * cos(2 * np.pi * n / (M - 1)) + 0.08 * cos(4 * np.pi * n / (M - 1))


def bartlett(M: int) -> Value:
    """Return the Bartlett window f32[M]: a triangle.

    >>> jnp.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.bartlett.html.
    """
    M, n = _window("bartlett", M)
    return ones(M, float_dtype()) if n is None else 1 - abs(2 * n + 1 - M) / (M - 1)


def hamming(M: int) -> Value:
    """Return the Hamming window f32[M].

    >>> jnp.hamming(3).shape
    (3,)

    See https://numpy.org/doc/stable/reference/generated/numpy.hamming.html.
    """
    M, n = _window("hamming", M)
    return ones(M, float_dtype()) if n is None else 0.54 - 0.46 * cos(2 * np.pi * n / (M - 1))


def hanning(M: int) -> Value:
    """Return the Hann window f32[M].

    >>> jnp.hanning(3).shape
    (3,)

    See https://numpy.org/doc/stable/reference/generated/numpy.hanning.html.
    """
    M, n = _window("hanning", M)
    return ones(M, float_dtype()) if n is None else 0.5 * (1 - cos(2 * np.pi * n / (M - 1)))


def kaiser(M: int, beta: ArrayLike) -> Value:
    """Return the Kaiser window f32[M] of shape `beta`.

    >>> jnp.kaiser(3, 0.0)
    Array([1., 1., 1.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.kaiser.html.
    """
    M, n = _window("kaiser", M)
    if n is None:
        return ones(M, float_dtype())
    middle = 0.5 * (M - 1)
    return i0(beta * sqrt(1 - ((n - middle) / middle) ** 2)) / i0(beta)


def _window(name: str, M: Any) -> tuple[int, Value | None]:
    """Return the length and the places 0, 1, ..., M - 1 of a window; no places for those that are all ones."""
    M = int(concrete(M, f"M argument of jnp.{name}"))
    return M, lax.iota(float_dtype(), M) if M > 1 else None


@library_jit(elementwise=True)
def i0(x: ArrayLike) -> Value:
    """Return the modified Bessel function of the first kind and order 0.

    >>> jnp.i0(0.0)
    Array(1.0000001, dtype=float32, weak_type=True)

    See https://numpy.org/doc/stable/reference/generated/numpy.i0.html.
    """
    x, = promote_args_inexact("i0", x)
    if not is_float(x.dtype):
        raise ValueError(f"Unsupported input type to jax.numpy.i0: {x.dtype}")
    return _i0(x)


@custom_jvp
def _i0(x: Value) -> Value:
    magnitude = lax.abs(x)
    return lax.mul(lax.exp(magnitude), lax.bessel_i0e(magnitude))


@_i0.defjvp
def _i0_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Value, Value]:
    out, tangent = jvp(_i0.fun, primals, tangents)
    return out, where(primals[0] == 0, 0.0, tangent)  # |x| has no derivative at 0, but this function has


# --- from a table ----------------------------------------------------------------------------------------------

def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Any = None, right: Any = None,
           period: ArrayLike | None = None) -> Value:
    """Return the values at `x` of the piecewise linear function through the points (`xp`, `fp`): f32[n], xp rising.

    left, right: the value outside of the points; the last one's when not given, a line on for "extrapolate".

    >>> jnp.interp(1.5, jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0]))
    Array(15., dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.interp.html.
    """
    static = [name for name, value in (("left", left), ("right", right)) if value is None or isinstance(value, str)]
    if period is None:
        static.append("period")
    return _interp_with(tuple(static))(x, xp, fp, left, right, period)


@functools.cache
def _interp_with(static: tuple[str, ...]) -> Callable[..., Any]:
    """Return the jitted function to which these arguments are static: one for all calls, that they may be hits."""
    jitted: Callable[..., Any] = jit(_interp, static_argnames=static)
    return jitted


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Value:
    check_arraylike("interp", x, xp, fp)
    if np.shape(xp) != np.shape(fp) or np.ndim(xp) != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    x, xp = promote_dtypes_inexact(x, xp)
    fp, = promote_dtypes_inexact(fp)
    if is_complex(x.dtype):
        raise ValueError("jnp.interp: complex x values not supported.")
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(f"the only valid string value of `{name}` is 'extrapolate', but got: {value!r}")
    if period is not None:
        if np.ndim(period) != 0:
            raise ValueError(f"period must be a scalar; got {period}")
        period = abs(period)
        x, xp = x % period, xp % period
        xp, fp = lax.sort_key_val(xp, fp)
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    result = _on_segments(x, xp, fp)
    if not isinstance(left, str):
        first = fp[0] if left is None else left
        result = where(x < xp[0], first, result) if period is None else result
    if not isinstance(right, str):
        last = fp[-1] if right is None else right
        result = where(x > xp[-1], last, result) if period is None else result
    return result


def _on_segments(x: Value, xp: Value, fp: Value) -> Value:
    i = clip(searchsorted(xp, x, side="right"), 1, len(xp) - 1)
    df = fp[i] - fp[i - 1]
    dx = xp[i] - xp[i - 1]
    delta = x - xp[i - 1]
    is_step = lax.abs(dx) <= np.spacing(np.finfo(xp.dtype).eps)
    return where(is_step, fp[i - 1], fp[i - 1] + (delta / where(is_step, 1, dx)) * df)


@library_jit("axis")
def unwrap(p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * np.pi) -> Value:
    """Return phases along `axis` with jumps of more than half a period replaced by steps of less.

    >>> jnp.unwrap(jnp.array([0.0, 6.0]))
    Array([ 0.      , -0.283185], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.unwrap.html.
    """
    check_arraylike("unwrap", p)
    p = asarray(p)
    if is_complex(p.dtype):
        raise ValueError("jnp.unwrap does not support complex inputs.")
    if p.shape[axis] == 0:
        return promote_dtypes_inexact(p)[0]
    if discont is None:
        discont = period / 2
    half = period / 2
    steps = diff(p, axis=axis)
    short = mod(steps + half, period) - half
    short = where((short == -half) & (steps > 0), half, short)
    correction = where(abs(steps) < discont, 0, short - steps)
    return concatenate((lax.slice_in_dim(p, 0, 1, axis=axis),
                        lax.slice_in_dim(p, 1, None, axis=axis) + cumsum(correction, axis=axis)), axis=axis)

