"""`jax.make_array_from_callback` and its kin: an array of its parts, one for each device. Here one part is all of it.

Source: `jax.make_array_from_callback` of JAX 0.4.35 and its neighbours.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.api.devices import device_put, lies_at
from tinytrace.core import views
from tinytrace.core.array import Array
from tinytrace.core.avals import canonicalize_shape
from tinytrace.core.trace import Tracer
from tinytrace.errors import UnexpectedTracerError, long_type


def make_array_from_callback(shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any]) -> Array:
    """Return the array of this shape whose part at `index`, a tuple of slices, is `data_callback(index)`: all of it.

    Raises: TypeError for what is no sharding, ValueError when the part has another shape, UnexpectedTracerError for a
      traced part.

    >>> from tinytrace.sharding import SingleDeviceSharding
    >>> from tinytrace.core.array import CPU
    >>> import numpy as np
    >>> make_array_from_callback((3,), SingleDeviceSharding(CPU), lambda index: np.arange(3)[index])
    Array([0, 1, 2], dtype=int32)
    """
    _check_sharding(sharding)
    shape = canonicalize_shape(shape)
    part = data_callback((slice(None),) * len(shape))
    if isinstance(part, Tracer):
        raise UnexpectedTracerError("jax.make_array_from_callback cannot be called within a traced context.")
    return _whole(shape, sharding, device_put(part))


def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Any, arrays: Sequence[Any]) -> Array:
    """Return the array of this shape whose parts, one for each device, are `arrays`: a list of one.

    Raises: TypeError for a part that is no Array, ValueError for more parts than devices, for one of another shape, and
      for traced ones.
    """
    _check_sharding(sharding)
    if any(isinstance(x, Tracer) for x in arrays):
        raise ValueError("jax.make_array_from_single_device_arrays requires a list of concrete arrays as input. got "
                         f"types {set(map(type, arrays))}")
    for x in arrays:
        if not isinstance(x, Array):
            raise TypeError(f"Unsupported type for elements in `arrays`: {type(x)}")
    if len(arrays) > 1:
        raise ValueError("When making an array from single-device arrays, the input arrays must be from distinct "
                         f"devices, but got BasicDeviceList([{','.join('TFRT_CPU_0' for _ in arrays)}])")
    if not arrays:
        raise IndexError("list index out of range: there is one device, and so one array is needed")
    return _whole(canonicalize_shape(shape), sharding, arrays[0])


def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Sequence[int] | None = None
                                       ) -> Array:
    """Return `local_data`, the part of this process, as an array: it is all of it, whatever `global_shape` says."""
    placed: Array = device_put(local_data, sharding)
    return placed


def _check_sharding(sharding: Any) -> None:
    if not isinstance(sharding, views.sharding.Sharding):
        raise TypeError(f"sharding should be an instance of `jax.sharding`. Got {sharding} of type {type(sharding)}")


def _whole(shape: tuple[int, ...], sharding: Any, part: Array) -> Array:
    if part.shape != shape:
        raise ValueError(f"Expected shard shape {sharding.shard_shape(shape)} doesn't match the single device array "
                         f"shape {part.shape}. Shape of Array is {long_type(part.aval.update(shape=shape))} with "
                         f"sharding {sharding}")
    sharding.check_compatible_aval(shape)
    return lies_at(part.again(part.aval.strip_weak_type()), sharding)
