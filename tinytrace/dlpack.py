"""`jax.dlpack`: arrays shared with other libraries. Between libraries, `numpy.from_dlpack(x)` and its like are enough.

>>> import numpy as np
>>> np.from_dlpack(from_dlpack(np.arange(3, dtype=np.int32)))
array([0, 1, 2], dtype=int32)
"""
from __future__ import annotations

from typing import Any

from tinytrace import numpy as jnp
from tinytrace.core.array import Array
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)

SUPPORTED_DTYPES = frozenset({
    jnp.bool_, jnp.int8, jnp.int16, jnp.int32, jnp.int64, jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64, jnp.float16,
    jnp.bfloat16, jnp.float32, jnp.float64, jnp.complex64, jnp.complex128,
})


def to_dlpack(x: Array, stream: Any = None, src_device: Any = None, dl_device: tuple[int, int] | None = None,
              max_version: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
    """Return a capsule with the elements of `x`, which whoever receives it must not write.

    Raises: TypeError for what is no Array; BufferError as `Array.__dlpack__`.

    >>> type(to_dlpack(jnp.ones(3))).__name__
    'PyCapsule'

    See https://jax.readthedocs.io/en/latest/jax.dlpack.html.
    """
    if not isinstance(x, Array):
        raise TypeError(f"Argument to to_dlpack must be a jax.Array, got {type(x)}")
    return x.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """Return another library's array in the same memory, as `jax.numpy.from_dlpack`.

    See https://jax.readthedocs.io/en/latest/jax.dlpack.html.
    """
    return jnp.from_dlpack(external_array, device=device, copy=copy)
