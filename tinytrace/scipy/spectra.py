"""Spectra of signals along one axis, segment by segment: stft and its inverse, csd and welch.

A segment of `nperseg` samples is weighted by a window and transformed; `noverlap` samples of it are the next one's.
"""
from __future__ import annotations

import importlib
import math
import operator
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.dtypes import canonicalize_dtype, complex_dtype, dtype_of, part_dtype
from tinytrace.extend.language import concrete_or_error
from tinytrace.numpy.promotion import (
    ArrayLike,
    Value,
    canonicalize_axis,
    check_arraylike,
    promote_dtypes_complex,
    promote_dtypes_inexact,
)
from tinytrace.scipy.trends import detrend as without_trend

__all__ = ["csd", "istft", "stft", "welch"]


def stft(x: Any, fs: ArrayLike = 1.0, window: Any = "hann", nperseg: int = 256, noverlap: int | None = None,
         nfft: int | None = None, detrend: Any = False, return_onesided: bool = True, boundary: str | None = "zeros",
         padded: bool = True, axis: int = -1) -> tuple[Value, Value, Value]:
    """Return frequencies, times and the short-time Fourier transform of `x`: c64[..., frequencies, times].

    fs: samples per unit of time.  window: "hann", a name or tuple that SciPy knows (which is then needed), or f32[k].
    boundary: how the signal goes on beyond its ends ("zeros", "even", "odd", "constant", None).  padded: with zeros, to
    whole segments.

    Raises: ValueError for sizes that do not fit.

    >>> frequencies, times, z = jax.scipy.signal.stft(jnp.ones(8), nperseg=4)
    >>> abs(z).round(2)[:, 1:-1]
    Array([[1. , 1. , 1. ],
           [0.5, 0.5, 0.5],
           [0. , 0. , 0. ]], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.stft.html.
    """
    return _spectra(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, "spectrum", axis, "stft",
                    boundary, padded)


def csd(x: Any, y: Any, fs: ArrayLike = 1.0, window: Any = "hann", nperseg: int | None = None,
        noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True,
        scaling: str = "density", axis: int = -1, average: str = "mean") -> tuple[Value, Value]:
    """Return frequencies and the cross power spectral density of two signals, by Welch's method.

    scaling: "density" is power per frequency, "spectrum" is power.  average: "mean" or "median" of the segments'.

    Raises: ValueError for other words, and for sizes that do not fit.

    >>> jax.scipy.signal.csd(jnp.array([1.0, -1.0, 1.0, -1.0]), jnp.array([1.0, 0.0, 1.0, 0.0]), nperseg=4)[0]
    Array([0.  , 0.25, 0.5 ], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.csd.html.
    """
    frequencies, _, power = _spectra(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
                                     "psd")
    if y is not None:
        power = power + 0j  # complex where it is a cross spectrum
    if power.ndim >= 2 and power.size > 0:
        power = _averaged(power, average) if power.shape[-1] > 1 else jnp.reshape(power, power.shape[:-1])
    return frequencies, power


def welch(x: Any, fs: ArrayLike = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
          axis: int = -1, average: str = "mean") -> tuple[Value, Value]:
    """Return frequencies and the power spectral density of a signal, by Welch's method; see `csd`.

    >>> jax.scipy.signal.welch(jnp.array([1.0, -1.0, 1.0, -1.0]), nperseg=4)[1].round(3)
    Array([0.   , 1.333, 2.667], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.welch.html.
    """
    frequencies, power = csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
                             average)
    return frequencies, power.real


def istft(Zxx: Any, fs: ArrayLike = 1.0, window: Any = "hann", nperseg: int | None = None,  # noqa: N803
          noverlap: int | None = None, nfft: int | None = None, input_onesided: bool = True, boundary: bool = True,
          time_axis: int = -1, freq_axis: int = -2) -> tuple[Value, Value]:
    """Return times and the signal of a short-time Fourier transform: the inverse of `stft`.

    boundary: the signal was continued beyond its ends, which are taken off.

    Raises: ValueError for sizes and axes that do not fit.

    >>> jax.scipy.signal.istft(jax.scipy.signal.stft(jnp.arange(8.0), nperseg=4)[2], nperseg=4)[1].round(3)
    Array([0., 1., 2., 3., 4., 5., 6., 7.], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.istft.html.
    """
    z = Zxx
    check_arraylike("istft", z)
    if z.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    freq_axis, time_axis = canonicalize_axis(freq_axis, z.ndim), canonicalize_axis(time_axis, z.ndim)
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    z = jnp.asarray(z, dtype=canonicalize_dtype(np.result_type(dtype_of(z), np.complex64)))
    size, step = _sizes_of_inverse(z.shape[freq_axis], nperseg, noverlap, nfft, input_onesided)
    ndim = z.ndim
    if time_axis != ndim - 1 or freq_axis != ndim - 2:
        others = tuple(axis for axis in range(ndim) if axis not in (time_axis, freq_axis))
        z = jnp.transpose(z, (*others, freq_axis, time_axis))
    inverse = jnp.fft.irfft if input_onesided else jnp.fft.ifft
    segments = inverse(z, axis=-2, n=nfft)[..., :size, :]
    win = _window_of_inverse(window, size, segments.dtype)
    segments *= win.sum()
    win = lax.expand_dims(win, (*range(segments.ndim - 2), -1))
    x = _overlapped((segments * win).swapaxes(-2, -1), step)
    squares = jnp.repeat(win * win, segments.shape[-1], axis=-1)
    norm = _overlapped(squares.swapaxes(-2, -1), step)
    if boundary:
        x = x[..., size // 2:-(size // 2)]
        norm = norm[..., size // 2:-(size // 2)]
    x /= jnp.where(norm > 1e-10, norm, 1.0)
    if x.ndim > 1 and time_axis != ndim - 1:
        x = jnp.moveaxis(x, -1, time_axis - (freq_axis < time_axis))
    return jnp.arange(x.shape[0], dtype=part_dtype(x.dtype)) / fs, x


# --- from signals to spectra ---------------------------------------------------------------------------------------

def _spectra(x: Any, y: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
             return_onesided: bool, scaling: str, axis: Any, mode: str, boundary: str | None = None,
             padded: bool = False) -> tuple[Value, Value, Value]:
    """Return frequencies, times and the spectra of segments, or their products with those of `y`."""
    if boundary not in _EXTENSIONS:
        raise ValueError(f"Unknown boundary option '{boundary}', must be one of: {list(_EXTENSIONS)}")
    axis = canonicalize_axis(concrete_or_error(operator.index, axis, "axis of windowed-FFT"), x.ndim)
    x, *others = signals = _checked_signals(x, y, axis)
    dtype = complex_dtype(x.dtype)
    real_dtype = part_dtype(dtype)
    win, size = _window(window, nperseg, x.shape[axis], x.dtype)
    overlap = size // 2 if noverlap is None else concrete_or_error(int, noverlap, "noverlap of windowed-FFT")
    length = size if nfft is None else concrete_or_error(int, nfft, "nfft of windowed-FFT")
    if any(signal.size == 0 for signal in signals):
        shape = _shape_of_nothing(signals, axis)
        return jnp.zeros(shape, real_dtype), jnp.zeros(shape, real_dtype), jnp.zeros(shape, dtype)
    signals = _of_one_length([jnp.moveaxis(x, axis, -1), *(
        y if y.ndim == 1 else jnp.moveaxis(y, axis, -1) for y in others)])
    if length < size:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    if overlap >= size:
        raise ValueError("noverlap must be less than nperseg.")
    signals = _extended(signals, size, size - overlap, boundary, padded)
    detrended = _detrending(detrend, axis)
    scale, = promote_dtypes_complex(_scale(win, fs, scaling, mode))
    onesided = return_onesided
    if onesided and any(jnp.iscomplexobj(signal) for signal in signals):
        warnings.warn("Input data is complex, switching to return_onesided=False", stacklevel=4)
        onesided = False
    frequencies = (jnp.fft.rfftfreq if onesided else jnp.fft.fftfreq)(length, 1 / fs, dtype=real_dtype)
    result, *more = (_transformed(signal, win, detrended, size, overlap, length, onesided) for signal in signals)
    if mode == "psd":
        result = jnp.conjugate(result) * (more[0] if others else result)
    result *= scale
    if onesided and mode == "psd":  # the other side has the same power
        result = result.at[..., 1:None if length % 2 else -1].mul(2)
    times = jnp.arange(size / 2, signals[0].shape[-1] - size / 2 + 1, size - overlap, dtype=real_dtype) / fs
    if boundary is not None:
        times -= size / 2 / fs
    result = result.astype(dtype)
    if not others and mode != "stft":
        result = result.real
    return frequencies, times, jnp.moveaxis(result, -1, axis)


def _checked_signals(x: Any, y: Any, axis: int) -> list[Any]:
    if y is None:
        check_arraylike("spectral_helper", x)
        return promote_dtypes_inexact(x)
    check_arraylike("spectral_helper", x, y)
    x, y = promote_dtypes_inexact(x, y)
    if x.ndim != y.ndim:
        raise ValueError("two-arguments must have the same rank ({x.ndim} vs {y.ndim}).")  # so in JAX, with braces
    try:
        np.broadcast_shapes(*(signal.shape[:axis] + signal.shape[axis + 1:] for signal in (x, y)))
    except ValueError as error:
        raise ValueError("x and y cannot be broadcast together.") from error
    return [x, y]


def _window(window: Any, nperseg: Any, length: int, dtype: Any) -> tuple[Value, int]:
    """Return the weights of a segment's samples, and how many samples it has."""
    if nperseg is not None and (nperseg := concrete_or_error(int, nperseg, "nperseg of windowed-FFT")) < 1:
        raise ValueError("nperseg must be a positive integer")
    if isinstance(window, (str, tuple)):
        size = length if nperseg is None else nperseg
        if size > length:
            warnings.warn(f"nperseg={size} is greater than input_length={length!r}, using nperseg={length}",
                          stacklevel=5)
            size = length
        return jnp.array(_named_window(window, size), dtype=dtype), size
    win = jnp.asarray(window)
    if win.ndim != 1:
        raise ValueError("window must be 1-D")
    if length < win.size:
        raise ValueError("window is longer than input signal")
    if nperseg is not None and nperseg != win.size:
        raise ValueError("value specified for nperseg is different from length of window")
    return win, win.size


def _named_window(window: Any, size: int) -> Any:
    if window == "hann":
        return jnp.array([1.0]) if size == 1 else jnp.sin(jnp.linspace(0, jnp.pi, size, endpoint=False)) ** 2
    try:
        return importlib.import_module("scipy.signal").get_window(window, size)
    except ImportError as error:
        raise ImportError(f"scipy must be available to use window={window!r}") from error


def _shape_of_nothing(signals: list[Any], axis: int) -> tuple[int, ...]:
    if len(signals) == 1:
        return signals[0].shape  # type: ignore[no-any-return]
    shape = list(np.broadcast_shapes(*(signal.shape[:axis] + signal.shape[axis + 1:] for signal in signals)))
    shape.insert(axis, min(signal.shape[axis] for signal in signals))
    return tuple(shape)


def _of_one_length(signals: list[Any]) -> list[Any]:
    """Return the signals with zeros behind the shorter one."""
    length = max(signal.shape[-1] for signal in signals)
    return [signal if signal.shape[-1] == length else jnp.concatenate(
        (signal, jnp.zeros_like(signal, shape=(*signal.shape[:-1], length - signal.shape[-1]))), -1)
        for signal in signals]


def _extended(signals: list[Any], size: int, step: int, boundary: str | None, padded: bool) -> list[Any]:
    """Return the signals continued beyond their ends, and with zeros up to whole segments."""
    if boundary is not None:
        signals = [_EXTENSIONS[boundary](signal, size // 2) for signal in signals]
    if padded:
        more = -(signals[0].shape[-1] - size) % step % size
        signals = [jnp.concatenate((signal, jnp.zeros_like(signals[0], shape=(*signal.shape[:-1], more))), axis=-1)
                   for signal in signals]
    return signals


def _padding(mode: str, **kwargs: Any) -> Callable[[Any, int], Value]:
    return lambda x, n: jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], mode, **kwargs)


def _mirrored(x: Any, n: int) -> Value:
    """Return `x` continued by its mirror images in the points at its ends."""
    if n < 1:
        return x
    if n > x.shape[-1] - 1:
        raise ValueError(f"The extension length n ({n}) is too big. It must not exceed x.shape[axis]-1, which is "
                         f"{x.shape[-1] - 1}.")
    axis = x.ndim - 1
    first = lax.slice_in_dim(x, 0, 1, axis=axis)
    before = jnp.flip(lax.slice_in_dim(x, 1, n + 1, axis=axis), axis=axis)
    last = lax.slice_in_dim(x, -1, None, axis=axis)
    behind = jnp.flip(lax.slice_in_dim(x, -(n + 1), -1, axis=axis), axis=axis)
    return jnp.concatenate((2 * first - before, x, 2 * last - behind), axis=axis)


_EXTENSIONS: dict[str | None, Any] = {
    "even": _padding("reflect"), "odd": _mirrored, "constant": _padding("edge"),
    "zeros": _padding("constant", constant_values=0.0), None: None,
}


def _detrending(detrend: Any, axis: int) -> Callable[[Any], Any]:
    if isinstance(detrend, str):
        return partial(without_trend, type=detrend, axis=-1)
    if callable(detrend):
        return lambda x: jnp.moveaxis(detrend(jnp.moveaxis(x, axis, -1)), -1, axis)
    if not detrend:
        return lambda x: x
    raise ValueError(f"Unsupported detrend type: {detrend}")


def _scale(win: Any, fs: Any, scaling: str, mode: str) -> Any:
    if scaling == "density":
        scale = 1.0 / (fs * (win * win).sum())
    elif scaling == "spectrum":
        scale = 1.0 / win.sum()**2
    else:
        raise ValueError(f"Unknown scaling: {scaling}")
    return jnp.sqrt(scale) if mode == "stft" else scale


def _transformed(x: Any, win: Any, detrended: Callable[[Any], Any], size: int, overlap: int, length: int,
                 onesided: bool) -> Value:
    """Return the transforms of the segments of `x`, along a last axis."""
    *batch, count = x.shape
    if size == 1 and overlap == 0:
        segments = x[..., None]
    else:
        flat = x.reshape((math.prod(batch), count, 1))
        segments = lax.conv_general_dilated_patches(flat, (size,), (size - overlap,), "VALID",
                                                    dimension_numbers=("NTC", "OIT", "NTC"))
        segments = segments.reshape(*batch, *segments.shape[-2:])
    segments = detrended(segments)
    if jnp.iscomplexobj(win):
        segments, = promote_dtypes_complex(segments)
    segments = win.reshape((1,) * len(batch) + (1, size)) * segments
    return jnp.fft.rfft(segments.real, n=length) if onesided else jnp.fft.fft(segments, n=length)


def _averaged(power: Any, average: str) -> Value:
    if average == "mean":
        return power.mean(axis=-1)
    if average != "median":
        raise ValueError(f'average must be "median" or "mean", got {average}')
    even = jnp.arange(2.0, power.shape[-1], 2)
    bias = (1 + jnp.sum(1.0 / (even + 1) - 1.0 / even)).astype(power.dtype)
    if jnp.iscomplexobj(power):
        return (jnp.median(jnp.real(power), axis=-1) + 1j * jnp.median(jnp.imag(power), axis=-1)) / bias
    return jnp.median(power, axis=-1) / bias


# --- and back --------------------------------------------------------------------------------------------------------

def _sizes_of_inverse(frequencies: int, nperseg: Any, noverlap: Any, nfft: Any, onesided: bool) -> tuple[int, int]:
    """Return how many samples a segment has, and how many of them come before the next."""
    usual = 2 * (frequencies - 1) if onesided else frequencies
    size = concrete_or_error(int, nperseg or usual, "nperseg: segment length of STFT")
    if size < 1:
        raise ValueError("nperseg must be a positive integer")
    length = usual + (onesided and size == usual + 1) if nfft is None else concrete_or_error(int, nfft, "nfft of STFT")
    if length < size:
        raise ValueError(f"FFT length ({length}) must be longer than nperseg ({size}).")
    overlap = concrete_or_error(int, noverlap or size // 2, "noverlap of STFT")
    if overlap >= size:
        raise ValueError("noverlap must be less than nperseg.")
    return size, size - overlap


def _window_of_inverse(window: Any, size: int, dtype: Any) -> Value:
    if window == "hann":
        return _named_window(window, size).astype(dtype)
    if isinstance(window, (str, tuple)):
        return jnp.array(_named_window(window, size), dtype=dtype)
    win = jnp.asarray(window)
    if win.ndim != 1:
        raise ValueError("window must be 1-D")
    if win.shape[0] != size:
        raise ValueError(f"window must have length of {size}")
    return win


def _overlapped(x: Any, step: int) -> Value:
    """Return the sum of the segments x: f32[..., segments, size], each `step` samples behind the one before."""
    *batch, count, size = x.shape
    flat = math.prod(batch)
    steps = 1 + (size - 1) // step
    x = jnp.pad(x.reshape((flat, count, size)), ((0, 0), (0, 0), (0, steps * step - size)))
    x = x.reshape((flat, count, steps, step)).transpose((0, 2, 1, 3))  # steps first: each is shifted by one more
    x = jnp.pad(x, ((0, 0), (0, 0), (0, count), (0, 0)))
    shrunk = x.shape[2] - 1
    x = x.reshape((flat, -1))[:, :steps * shrunk * step].reshape((flat, steps, shrunk * step))
    return x.sum(axis=1)[:, :step * (count - 1) + size].reshape((*batch, -1))
