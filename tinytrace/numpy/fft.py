"""`jax.numpy.fft`: discrete Fourier transforms of one, two or three axes, and their frequencies.

`norm`: "backward" (or None) divides the inverse transform by the number of elements, "forward" the other one, "ortho"
both by its square root. `a` is cut, or filled up with zeros, to the length `n` or the lengths `s`.

See https://jax.readthedocs.io/en/latest/jax.numpy.html#module-jax.numpy.fft.
"""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tinytrace import lax
from tinytrace.api.library import remembered
from tinytrace.numpy.array_creation import array, asarray, zeros
from tinytrace.numpy.classification import conj
from tinytrace.numpy.exponential import sqrt
from tinytrace.numpy.padding import pad
from tinytrace.numpy.promotion import (
    ArrayLike,
    DTypeLike,
    Value,
    check_arraylike,
    float_dtype,
    promote_dtypes_inexact,
)
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.rearranging import roll
from tinytrace.numpy.reductions import prod
from tinytrace.numpy.shapes import moveaxis

Lengths = Sequence[int]


# --- transforms --------------------------------------------------------------------------------------------------

@remembered("n", "axis", "norm")
def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Transform along `axis`: c64[...].

    >>> jnp.fft.fft(jnp.array([1.0, 2.0, 3.0, 4.0]))
    Array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.fft.html.
    """
    return _along_axis("fft", lax.FftType.FFT, a, n, axis, norm)


@remembered("n", "axis", "norm")
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Transform back along `axis`: c64[...].

    >>> jnp.fft.ifft(jnp.array([10.0, -2 + 2j, -2.0, -2 - 2j]))
    Array([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j], dtype=complex64)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.ifft.html.
    """
    return _along_axis("ifft", lax.FftType.IFFT, a, n, axis, norm)


@remembered("n", "axis", "norm")
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Transform real numbers along `axis`, of length n: n // 2 + 1 frequencies.

    >>> jnp.fft.rfft(jnp.array([1.0, 2.0, 3.0, 4.0]))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.rfft.html.
    """
    return _along_axis("rfft", lax.FftType.RFFT, a, n, axis, norm)


@remembered("n", "axis", "norm")
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Undo `rfft`: real numbers, `n` along `axis`, an even number if it is not given.

    >>> jnp.fft.irfft(jnp.array([10.0, -2 + 2j, -2.0]))
    Array([1., 2., 3., 4.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.irfft.html.
    """
    return _along_axis("irfft", lax.FftType.IRFFT, a, n, axis, norm)


@remembered("n", "axis", "norm")
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Transform half of a signal that is its own conjugate backwards: `n` real frequencies along `axis`.

    >>> jnp.fft.hfft(jnp.array([1.0, 2.0, 3.0]))
    Array([ 8., -2.,  0., -2.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.hfft.html.
    """
    halved = conj(a)
    _check_axis("hfft", axis)
    count = (halved.shape[axis] - 1) * 2 if n is None else n
    return _along_axis("hfft", lax.FftType.IRFFT, halved, n, axis, norm) * count


@remembered("n", "axis", "norm")
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Undo `hfft`: of n real numbers along `axis` the first n // 2 + 1 of the signal.

    >>> jnp.fft.ihfft(jnp.array([8.0, -2.0, 0.0, -2.0]))
    Array([1.+0.j, 2.+0.j, 3.+0.j], dtype=complex64)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.ihfft.html.
    """
    _check_axis("ihfft", axis)
    arr = asarray(a)
    count = arr.shape[axis] if n is None else n
    return conj(_along_axis("ihfft", lax.FftType.RFFT, arr, n, axis, norm)) * (1 / count)


@remembered("s", "axes", "norm")
def fft2(a: ArrayLike, s: Lengths | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Value:
    """Transform along two axes.

    >>> jnp.fft.fft2(jnp.ones((2, 2))).shape
    (2, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.fft2.html.
    """
    return _along_two_axes("fft2", lax.FftType.FFT, a, s, axes, norm)


@remembered("s", "axes", "norm")
def ifft2(a: ArrayLike, s: Lengths | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Value:
    """Transform back along two axes.

    >>> jnp.fft.ifft2(jnp.ones((2, 2))).shape
    (2, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.ifft2.html.
    """
    return _along_two_axes("ifft2", lax.FftType.IFFT, a, s, axes, norm)


@remembered("s", "axes", "norm")
def rfft2(a: ArrayLike, s: Lengths | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Value:
    """Transform real numbers along two axes, of which the last keeps n // 2 + 1 frequencies.

    >>> jnp.fft.rfft2(jnp.ones((2, 2))).shape
    (2, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.rfft2.html.
    """
    return _along_two_axes("rfft2", lax.FftType.RFFT, a, s, axes, norm)


@remembered("s", "axes", "norm")
def irfft2(a: ArrayLike, s: Lengths | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Value:
    """Undo `rfft2`: real numbers.

    >>> jnp.fft.irfft2(jnp.ones((2, 2))).shape
    (2, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.irfft2.html.
    """
    return _along_two_axes("irfft2", lax.FftType.IRFFT, a, s, axes, norm)


@remembered("s", "axes", "norm")
def fftn(a: ArrayLike, s: Lengths | None = None, axes: Sequence[int] | None = None,
         norm: str | None = None) -> Value:
    """Transform along `axes`, all of them if not given, three at most.

    >>> jnp.fft.fftn(jnp.ones((2, 2))).shape
    (2, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.fftn.html.
    """
    return _transformed("fftn", lax.FftType.FFT, a, s, axes, norm)


@remembered("s", "axes", "norm")
def ifftn(a: ArrayLike, s: Lengths | None = None, axes: Sequence[int] | None = None,
          norm: str | None = None) -> Value:
    """Transform back along `axes`, all of them if not given, three at most.

    >>> jnp.fft.ifftn(jnp.ones((2, 2))).shape
    (2, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.ifftn.html.
    """
    return _transformed("ifftn", lax.FftType.IFFT, a, s, axes, norm)


@remembered("s", "axes", "norm")
def rfftn(a: ArrayLike, s: Lengths | None = None, axes: Sequence[int] | None = None,
          norm: str | None = None) -> Value:
    """Transform real numbers along `axes`, of which the last keeps n // 2 + 1 frequencies.

    >>> jnp.fft.rfftn(jnp.ones((2, 2))).shape
    (2, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.rfftn.html.
    """
    return _transformed("rfftn", lax.FftType.RFFT, a, s, axes, norm)


@remembered("s", "axes", "norm")
def irfftn(a: ArrayLike, s: Lengths | None = None, axes: Sequence[int] | None = None,
           norm: str | None = None) -> Value:
    """Undo `rfftn`: real numbers.

    >>> jnp.fft.irfftn(jnp.ones((2, 2))).shape
    (2, 2)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.irfftn.html.
    """
    return _transformed("irfftn", lax.FftType.IRFFT, a, s, axes, norm)


def _check_axis(name: str, axis: Any) -> None:
    if isinstance(axis, (list, tuple)):
        raise ValueError(f"jax.numpy.fft.{name} does not support multiple axes. Please use jax.numpy.fft.{name}n. "
                         f"Got axis = {axis!r}.")


def _along_axis(name: str, fft_type: lax.FftType, a: Any, n: int | None, axis: int | None, norm: str | None) -> Value:
    _check_axis(name, axis)
    return _transformed(name, fft_type, a, None if n is None else [n], None if axis is None else [axis], norm)


def _along_two_axes(name: str, fft_type: lax.FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Value:
    if len(axes) != 2:
        raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes!r}.")
    return _transformed(name, fft_type, a, s, axes, norm)


def _transformed(name: str, fft_type: lax.FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Value:
    """Move the axes to the end, give them their lengths, transform, normalize, and move them back."""
    full_name = f"jax.numpy.fft.{name}"
    check_arraylike(full_name, a)
    arr, wanted = asarray(a), axes
    s, axes = _lengths_and_axes(full_name, arr.ndim, s, axes)
    if wanted is not None:
        axes = tuple(range(arr.ndim - len(axes), arr.ndim))
        arr = moveaxis(arr, wanted, axes)
    inverse_of_real = fft_type is lax.FftType.IRFFT
    if s is not None:
        sizes = list(arr.shape)
        for axis, size in zip(axes, s, strict=True):
            sizes[axis] = size
        if inverse_of_real:
            sizes[-1] = sizes[-1] // 2 + 1
        arr = arr[tuple(map(slice, sizes))]
        arr = pad(arr, [(0, size - old) for size, old in zip(sizes, arr.shape, strict=True)])
    else:
        s = [arr.shape[axis] for axis in axes]
        if inverse_of_real and s:
            s[-1] = max(0, 2 * (s[-1] - 1))
    result = lax.fft(arr, fft_type, tuple(s))
    if norm is not None:
        result = result * _factor(array(s, dtype=result.dtype), name, norm)
    return result if wanted is None else moveaxis(result, axes, wanted)


def _lengths_and_axes(name: str, ndim: int, s: Any, axes: Any) -> tuple[Any, Any]:
    if s is not None:
        s = tuple(map(operator.index, s))
        if any(size < 0 for size in s):
            raise ValueError("Shape should be non-negative.")
    if s is not None and axes is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    wanted = axes
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    if len(axes) != len(set(axes)):
        raise ValueError(f"{name} does not support repeated axes. Got axes {axes}.")
    if len(axes) > 3:
        raise ValueError(f"{name} only supports 1D, 2D, and 3D FFTs. Got axes {wanted} with input rank {ndim}.")
    return s, axes


def _factor(s: Value, name: str, norm: str) -> Value:
    """Return what the transform of lengths `s` is multiplied by; it divides inverse transforms already."""
    if norm == "backward":
        return array(1)
    s, = promote_dtypes_inexact(s)
    inverse = name.startswith("i")
    if norm == "ortho":
        return sqrt(prod(s)) if inverse else 1 / sqrt(prod(s))
    if norm == "forward":
        return prod(s) if inverse else 1 / prod(s)
    raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')


# --- frequencies -------------------------------------------------------------------------------------------------

@remembered("n", "d", "dtype", "device", static_argnums=(0, 1))
def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike = None, device: Any = None) -> Value:
    """Return the frequencies f32[n] of a transform of `n` samples at distances `d`; those below 0 come last.

    >>> jnp.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.fftfreq.html.
    """
    dtype = dtype or float_dtype()
    _check("fftfreq", n, d)
    k = zeros(n, dtype=dtype, device=device)
    middle = (n + 1) // 2
    k = k.at[:middle].set(arange(0, middle, dtype=dtype))
    k = k.at[middle:].set(arange(-(n // 2), 0, dtype=dtype))
    return k / array(d * n, dtype=dtype, device=device)


@remembered("n", "d", "dtype", "device", static_argnums=(0, 1))
def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike = None, device: Any = None) -> Value:
    """Return the frequencies f32[n // 2 + 1], none negative, of a transform of `n` real samples at distances `d`.

    >>> jnp.fft.rfftfreq(4)
    Array([0.  , 0.25, 0.5 ], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.rfftfreq.html.
    """
    dtype = dtype or float_dtype()
    _check("rfftfreq", n, d)
    return arange(0, n // 2 + 1, dtype=dtype) / array(d * n, dtype=dtype)


def _check(name: str, n: Any, d: Any) -> None:
    if isinstance(n, (list, tuple)):
        raise ValueError(f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {list(n)}.")
    if isinstance(d, (list, tuple)):
        raise ValueError(f"The d argument of jax.numpy.fft.{name} only takes a single value. Got d = {list(d)}.")


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Value:
    """Move frequency 0 to the middle.

    >>> jnp.fft.fftshift(jnp.fft.fftfreq(4))
    Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.fftshift.html.
    """
    check_arraylike("fftshift", x)
    return _shifted(asarray(x), axes, 1)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Value:
    """Move frequency 0 from the middle back to the front.

    >>> jnp.fft.ifftshift(jnp.array([-1, 0, 1]))
    Array([ 0,  1, -1], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fft.ifftshift.html.
    """
    check_arraylike("ifftshift", x)
    return _shifted(asarray(x), axes, -1)


def _shifted(x: Value, axes: Any, sign: int) -> Value:
    if isinstance(axes, int):
        return roll(x, sign * (x.shape[axes] // 2), axes)
    axes = tuple(range(x.ndim)) if axes is None else axes
    return roll(x, [sign * (x.shape[axis] // 2) for axis in axes], axes)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]
