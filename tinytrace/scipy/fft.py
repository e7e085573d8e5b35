"""`jax.scipy.fft`: discrete cosine transforms, of type 2, and their inverses.

Source: J. Makhoul, "A fast cosine transform in one and two dimensions" (1980): by one complex transform of the elements
in another order.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace import numpy as jnp
from tinytrace.numpy.promotion import Value, canonicalize_axis, promote_dtypes_complex, promote_dtypes_inexact


def dct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the cosine transform of `x` along `axis`, cut or filled up with zeros to length `n`.

    Raises: NotImplementedError for other types than 2; ValueError for a `norm` other than "backward" and "ortho".

    >>> dct(jnp.array([1.0, 2.0, 4.0])).round(3)
    Array([14.   , -5.196,  1.   ], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.dct.html.
    """
    _check("dct", type, norm)
    axis = canonicalize_axis(axis, x.ndim)
    if n is not None:
        x = _resized(x, {axis: n})
    size = x.shape[axis]
    v = jnp.fft.fft(_interleaved(x, axis), axis=axis)
    k = _along(jnp.arange(size, dtype=v.real.dtype), axis, x.ndim)
    out = 2 * (v * _quarter_turn(size, k)).real
    return _orthonormal(out, axis) if norm == "ortho" else out


def dctn(x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
         norm: str | None = None) -> Value:
    """Return the cosine transform of `x` along `axes`, all if None, cut or filled up with zeros to the lengths `s`.

    >>> dctn(jnp.ones((2, 2)))[0, 0]
    Array(16., dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.dctn.html.
    """
    _check("dctn", type, norm)
    axes = range(x.ndim) if axes is None else axes
    if len(axes) == 1:
        return dct(x, n=None if s is None else s[0], axis=axes[0], norm=norm)
    if s is not None:
        x = _resized(x, dict(zip(axes, s, strict=False)))
    if len(axes) == 2:
        return _dct_of_two_axes(x, axes, norm)
    for block in (axes[i:i + 2] for i in range(0, len(axes), 2)):
        x = dctn(x, axes=block, norm=norm)
    return x


def idct(x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Undo `dct`.

    >>> idct(dct(jnp.array([1.0, 2.0, 4.0]))).round(3)
    Array([1., 2., 4.], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.idct.html.
    """
    _check("idct", type, norm)
    axis = canonicalize_axis(axis, x.ndim)
    if n is not None:
        x = _resized(x, {axis: n})
    size = x.shape[axis]
    x, = promote_dtypes_inexact(x)
    if norm is None or norm == "backward":
        x = _orthonormal(x, axis)
    x = _orthonormal(x, axis)
    k = _along(jnp.arange(size, dtype=x.dtype), axis, x.ndim)
    turn = _quarter_turn(size, k)
    x = jnp.fft.ifft(x.astype(turn.dtype) / _quarter_turn(size, k) * 2 * size, axis=axis)
    return _deinterleaved(x.real, axis)


def idctn(x: Any, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
          norm: str | None = None) -> Value:
    """Undo `dctn`.

    >>> idctn(dctn(jnp.array([[1.0, 2.0], [3.0, 4.0]]))).shape
    (2, 2)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.fft.idctn.html.
    """
    _check("idctn", type, norm)
    axes = range(x.ndim) if axes is None else axes
    if len(axes) == 1:
        return idct(x, n=None if s is None else s[0], axis=axes[0], norm=norm)
    if s is not None:
        x = _resized(x, dict(zip(axes, s, strict=False)))
    for axis in axes:
        x = idct(x, norm=norm, axis=axis)
    return x


# --- steps -------------------------------------------------------------------------------------------------------

def _check(name: str, type: int, norm: str | None) -> None:
    if type != 2:
        raise NotImplementedError("Only DCT type 2 is implemented.")
    if norm not in (None, "backward", "ortho"):
        raise ValueError(f"jax.scipy.fft.{name}: {norm=!r} is not implemented")


def _resized(x: Value, sizes: dict[int, int]) -> Value:
    config = [(0, sizes.get(axis, size) - size, 0) for axis, size in enumerate(x.shape)]
    return lax.pad(x, jnp.array(0, x.dtype), config)


def _along(k: Value, axis: int, ndim: int) -> Value:
    return lax.expand_dims(k, [a for a in range(ndim) if a != axis])


def _interleaved(x: Value, axis: int) -> Value:
    """Return the elements at even places, then those at odd ones backwards."""
    even, odd = lax.slice_in_dim(x, None, None, 2, axis), lax.slice_in_dim(x, 1, None, 2, axis)
    return lax.concatenate([even, lax.rev(odd, (axis,))], axis)


def _deinterleaved(x: Value, axis: int) -> Value:
    """Undo `_interleaved`."""
    def along(*bounds: int | None) -> tuple[slice, ...]:
        return tuple(slice(*bounds) if i == axis else slice(None) for i in range(x.ndim))

    half = (x.shape[axis] + 1) // 2
    even, odd = x[along(None, half, 1)], lax.rev(x[along(half, None, 1)], (axis,))
    out = jnp.zeros(x.shape, x.dtype)
    return out.at[along(None, None, 2)].set(even).at[along(1, None, 2)].set(odd)


def _quarter_turn(size: int, k: Value) -> Value:
    sizes, k = promote_dtypes_complex(size, k)
    return jnp.exp(-0.5j * np.pi * k / sizes)


def _orthonormal(out: Value, axis: int) -> Value:
    size = out.shape[axis]
    factor = lax.concatenate([lax.full((1,), 4, out.dtype), lax.full((size - 1,), 2, out.dtype)], 0)
    return out / lax.sqrt(_along(factor, axis, out.ndim) * size)


def _dct_of_two_axes(x: Value, axes: Sequence[int], norm: str | None) -> Value:
    first, second = (canonicalize_axis(axis, x.ndim) for axis in axes)
    n, m = x.shape[first], x.shape[second]
    v = jnp.fft.fftn(_interleaved(_interleaved(x, first), second), axes=axes)
    j = _along(jnp.arange(n, dtype=v.dtype), first, x.ndim)
    k = _along(jnp.arange(m, dtype=v.dtype), second, x.ndim)
    out = _quarter_turn(n, j) * (_quarter_turn(m, k) * v + _quarter_turn(m, -k) * jnp.roll(
        jnp.flip(v, axis=second), shift=1, axis=second))
    out = 2 * out.real
    return _orthonormal(_orthonormal(out, first), second) if norm == "ortho" else out


__all__ = ["dct", "dctn", "idct", "idctn"]
