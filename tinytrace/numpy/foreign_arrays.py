"""Arrays out of the memory of other libraries, and out of bytes and texts."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.api import devices
from tinytrace.core.array import Array, array_from_numpy
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dlpack import elements_of
from tinytrace.core.dtypes import canonicalize_dtype
from tinytrace.core.trace import Tracer
from tinytrace.numpy.array_creation import asarray
from tinytrace.numpy.promotion import DTypeLike, Value
from tinytrace.primitives.conversion import copy as lax_copy


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Value:
    """Read an array from the bytes of an object.

    >>> jnp.frombuffer(b"\\x01\\x02", dtype=jnp.uint8)
    Array([1, 2], dtype=uint8)

    See https://numpy.org/doc/stable/reference/generated/numpy.frombuffer.html.
    """
    return asarray(np.frombuffer(buffer, dtype=np.dtype(dtype), count=count, offset=offset))


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Value:
    """Read an array from text with numbers separated by `sep`.

    >>> jnp.fromstring("1 2 3", dtype=int, sep=" ")
    Array([1, 2, 3], dtype=int32)

    See https://numpy.org/doc/stable/reference/generated/numpy.fromstring.html.
    """
    return asarray(np.fromstring(string, dtype=np.dtype(dtype), count=count, sep=sep))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Value:
    """Return an array of another library, in the same memory: whoever writes there changes what must not change.

    Raises: TypeError for what does not speak DLPack; BufferError for an array that is not in the CPU's memory;
    ValueError if `copy` is False and 64-bit elements are to become 32-bit ones.

    >>> jnp.from_dlpack(np.arange(3, dtype=np.float32))
    Array([0., 1., 2.], dtype=float32)

    See https://numpy.org/doc/stable/reference/generated/numpy.from_dlpack.html.
    """
    if isinstance(x, Tracer):
        x.__dlpack__()
    if isinstance(x, Array):
        array = x
    else:
        value = elements_of(x)
        if canonicalize_dtype(value.dtype) != value.dtype:
            if copy is False:
                raise ValueError(f"copy=False, and elements of dtype {value.dtype} are converted, which copies them: "
                                 "64 bits are kept with jax_enable_x64 only")
            return asarray(value, device=device)
        array = array_from_numpy(value, ShapedArray(value.shape, value.dtype))
    placed = array if device is None else devices.device_put(array, device)
    return lax_copy(placed) if copy else placed


def fromfile(*args: Any, **kwargs: Any) -> Value:
    """Not implemented: reading a file is not pure. Read with NumPy and convert.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.fromfile.html.
    """
    raise NotImplementedError(
        "jnp.fromfile() is not implemented because it may be non-pure and thus unsafe for use with JIT and other JAX "
        "transformations. Consider using jnp.asarray(np.fromfile(...)) instead, although care should be taken if "
        "np.fromfile is used within a jax transformations because of its potential side-effect of consuming the file "
        "object; for more information see "
        "https://jax.readthedocs.io/en/latest/notebooks/Common_Gotchas_in_JAX.html#pure-functions")


def fromiter(*args: Any, **kwargs: Any) -> Value:
    """Not implemented: consuming an iterator is not pure. Collect with NumPy and convert.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.numpy.fromiter.html.
    """
    raise NotImplementedError(
        "jnp.fromiter() is not implemented because it may be non-pure and thus unsafe for use with JIT and other JAX "
        "transformations. Consider using jnp.asarray(np.fromiter(...)) instead, although care should be taken if "
        "np.fromiter is used within a jax transformations because of its potential side-effect of consuming the "
        "iterable object; for more information see "
        "https://jax.readthedocs.io/en/latest/notebooks/Common_Gotchas_in_JAX.html#pure-functions")

