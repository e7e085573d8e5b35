"""Truth values, eight to a byte: packbits, unpackbits."""
from __future__ import annotations

import numpy as np

from tinytrace import lax
from tinytrace.api.library import library_jit
from tinytrace.core.dtypes import is_discrete
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.promotion import ArrayLike, Value, check_arraylike
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.shapes import ravel


@library_jit("axis", "bitorder")
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Value:
    """Pack eight truth values into each byte.

    >>> jnp.packbits(jnp.array([1, 0, 1]))
    Array([160], dtype=uint8)

    See https://numpy.org/doc/stable/reference/generated/numpy.packbits.html.
    """
    check_arraylike("packbits", a)
    arr = asarray(a)
    if not is_discrete(arr.dtype):
        raise TypeError("Expected an input array of integer or boolean data type")
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    arr = lax.gt(arr, np.array(0, arr.dtype)).astype("uint8")
    bits = arange(8, dtype="uint8")
    if bitorder == "big":
        bits = bits[::-1]
    if axis is None:
        arr, axis = ravel(arr), 0
    arr = arr.swapaxes(axis, -1)
    rest = arr.shape[-1] % 8
    if rest:
        arr = lax.pad(arr, np.uint8(0), [(0, 0, 0)] * (arr.ndim - 1) + [(0, 8 - rest, 0)])
    arr = arr.reshape((*arr.shape[:-1], arr.shape[-1] // 8, 8))
    bits = lax.expand_dims(bits, tuple(range(arr.ndim - 1)))
    return (arr << bits).sum(-1).astype("uint8").swapaxes(axis, -1)


@library_jit("axis", "count", "bitorder")
def unpackbits(a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Value:
    """Return the bits of bytes, each as one element; `count` of them if given.

    >>> jnp.unpackbits(jnp.array([160], dtype=jnp.uint8))
    Array([1, 0, 1, 0, 0, 0, 0, 0], dtype=uint8)

    See https://numpy.org/doc/stable/reference/generated/numpy.unpackbits.html.
    """
    check_arraylike("unpackbits", a)
    arr = asarray(a)
    if arr.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    bits = asarray(1) << arange(8, dtype="uint8")
    if bitorder == "big":
        bits = bits[::-1]
    if axis is None:
        arr, axis = ravel(arr), 0
    arr = arr.swapaxes(axis, -1)
    unpacked = (arr[..., None] & lax.expand_dims(bits, tuple(range(arr.ndim))) > 0).astype("uint8")
    unpacked = unpacked.reshape((*unpacked.shape[:-2], -1))
    if count is not None and count > unpacked.shape[-1]:
        unpacked = lax.pad(unpacked, np.uint8(0), [(0, 0, 0)] * (unpacked.ndim - 1)
                           + [(0, count - unpacked.shape[-1], 0)])
    elif count is not None:
        unpacked = unpacked[..., :count]
    return unpacked.swapaxes(axis, -1)

