"""`jax.numpy.fft`: what of it deals in real numbers. The transforms themselves give complex ones.

See https://jax.readthedocs.io/en/latest/jax.numpy.html#module-jax.numpy.fft.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.numpy.array_creation import array, asarray, zeros
from tinytrace.numpy.promotion import ArrayLike, DTypeLike, Value, check_arraylike, float_dtype
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.rearranging import roll
from tinytrace.util import absent_names


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


__getattr__ = absent_names(__name__)
__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]
