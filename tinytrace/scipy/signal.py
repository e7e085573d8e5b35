"""`jax.scipy.signal`: convolution and correlation of arrays of any rank, the removal of trends, and spectra.

See https://docs.scipy.org/doc/scipy/reference/signal.html.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.vmapping import vmap
from tinytrace.core.dtypes import is_complex
from tinytrace.numpy.promotion import ArrayLike, Value, canonicalize_axis, check_arraylike, promote_dtypes_inexact
from tinytrace.scipy.spectra import csd, istft, stft, welch
from tinytrace.scipy.trends import detrend
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)
__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve", "istft", "stft",
           "welch"]


def convolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: Any = None) -> Value:
    """Return the convolution of two arrays of one rank: where they overlap at all ("full"), entirely ("valid"), or the
    middle of the first, of the shape of `in1` ("same").

    method: "direct" adds products, which "auto" does too; "fft" multiplies transforms, for long arrays of both.

    Raises: ValueError for other words, for empty arrays, and when neither array fits into the other.

    >>> jax.scipy.signal.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
    Array([1., 3., 5., 3.], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.convolve.html.
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    if method not in ("direct", "auto"):
        raise ValueError(f"Got {method=}; expected 'auto', 'fft', or 'direct'.")
    check_arraylike("convolve", in1, in2)
    return _convolve(in1, in2, mode, precision)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None) -> Value:
    """Return the correlation of two arrays of one rank: `convolve` with `in2` backwards and conjugated.

    >>> jax.scipy.signal.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 0.0]), mode="same")
    Array([0., 1., 2.], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.correlate.html.
    """
    check_arraylike("correlate", in1, in2)
    return convolve(in1, jnp.flip(in2.conj()), mode, method, precision)


def convolve2d(in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
               precision: Any = None) -> Value:
    """Return the convolution of two matrices: `convolve`, with zeros around them.

    Raises: NotImplementedError for another boundary or value around them.

    >>> jax.scipy.signal.convolve2d(jnp.eye(2), jnp.array([[1.0, 2.0]]))
    Array([[1., 2., 0.],
           [0., 1., 2.]], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.convolve2d.html.
    """
    _check_matrices("convolve2d", in1, in2, boundary, fillvalue)
    return _convolve(in1, in2, mode, precision)


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
                precision: Any = None) -> Value:
    """Return the correlation of two matrices, with zeros around them; see `convolve2d`.

    >>> jax.scipy.signal.correlate2d(jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([[1.0, 10.0]]), mode="valid")
    Array([[21.],
           [43.]], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.correlate2d.html.
    """
    _check_matrices("correlate2d", in1, in2, boundary, fillvalue)
    # The larger matrix stands still. Where that is the second, the correlation runs backwards: "same" asks which is
    # first by its shape, and of one shape both are.
    if mode != "same" and _fits(in1, in2) and not (mode == "valid" and in1.shape == in2.shape):
        result = _convolve(jnp.flip(in2), in1.conj(), mode, precision)
        return result if mode == "valid" else result.conj()
    return jnp.flip(_convolve(jnp.flip(in1), in2.conj(), mode, precision))


def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Any = None) -> Value:
    """Return the convolution of two arrays along `axes`, all if None, as the inverse of a product of transforms.

    Along other axes it is one convolution for each place: there the arrays are of one size.  mode: see `convolve`.

    Raises: ValueError for other modes, and for shapes that do not fit.

    >>> jax.scipy.signal.fftconvolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0])).round(3)
    Array([1., 3., 5., 3.], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.fftconvolve.html.
    """
    check_arraylike("fftconvolve", in1, in2)
    in1, in2 = promote_dtypes_inexact(in1, in2)
    if in1.ndim != in2.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode not in ("same", "full", "valid"):
        raise ValueError("mode must be one of ['same', 'full', 'valid']")
    function: Callable[..., Any] = partial(_convolve_transforms, mode=mode)
    if axes is not None:
        listed = axes if np.iterable(axes) else (axes,)
        axes = tuple(canonicalize_axis(axis, in1.ndim) for axis in listed)
        others = [axis for axis in range(in1.ndim) if axis not in axes]
        if any(in1.shape[axis] != in2.shape[axis] for axis in others):
            raise ValueError(f"mapped axes must have same shape; got {in1.shape=} {in2.shape=} {axes=}")
        for axis in others:
            function = vmap(function, in_axes=axis, out_axes=axis)
    return function(in1, in2)


# --- steps -------------------------------------------------------------------------------------------------------

def _convolve(in1: Any, in2: Any, mode: str, precision: Any) -> Value:
    if mode not in ("full", "same", "valid"):
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    if in1.ndim != in2.ndim:
        raise ValueError("in1 and in2 must have the same number of dimensions")
    if in1.size == 0 or in2.size == 0:
        raise ValueError(f"zero-size arrays not supported in convolutions, got shapes {in1.shape} and {in2.shape}.")
    in1, in2 = promote_dtypes_inexact(in1, in2)
    if not (_fits(in1, in2) or _fits(in2, in1)):
        raise ValueError("One input must be smaller than the other in every dimension.")
    sizes = in2.shape
    if _fits(in1, in2):
        in1, in2 = in2, in1
    padding = [_padding(mode, kernel, size) for kernel, size in zip(in2.shape, sizes, strict=True)]
    in2 = jnp.flip(in2)
    result = lax.conv_general_dilated(in1[None, None], in2[None, None], (1,) * len(padding), padding,
                                      precision=precision)
    return result[0, 0]


def _padding(mode: str, kernel: int, size: int) -> tuple[int, int]:
    """Return the zeros before and behind an axis; size: that of the second array, which may not be the kernel."""
    if mode == "valid":
        return 0, 0
    if mode == "full":
        return kernel - 1, kernel - 1
    return kernel - 1 - (size - 1) // 2, kernel - size + (size - 1) // 2


def _fits(inner: Any, outer: Any) -> bool:
    return all(m <= n for m, n in zip(inner.shape, outer.shape, strict=False))


def _check_matrices(name: str, in1: Any, in2: Any, boundary: str, fillvalue: float) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}() only supports boundary='fill', fillvalue=0")
    if jnp.ndim(in1) != 2 or jnp.ndim(in2) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")
    check_arraylike(name, in1, in2)


def _convolve_transforms(in1: Value, in2: Value, mode: str) -> Value:
    full = tuple(m + n - 1 for m, n in zip(in1.shape, in2.shape, strict=True))
    out = full
    if mode == "same":
        out = in1.shape
    elif mode == "valid":
        if not (_fits(in1, in2) or _fits(in2, in1)):
            raise ValueError("For 'valid' mode, One input must be at least as large as the other in every dimension.")
        if _fits(in1, in2):
            in1, in2 = in2, in1
        out = tuple(m - n + 1 for m, n in zip(in1.shape, in2.shape, strict=True))
    fft, ifft = (jnp.fft.fftn, jnp.fft.ifftn) if is_complex(in1.dtype) else (jnp.fft.rfftn, jnp.fft.irfftn)
    result = ifft(fft(in1, full) * fft(in2, full), full)
    return lax.dynamic_slice(result, [(m - n) // 2 for m, n in zip(full, out, strict=True)], out)
