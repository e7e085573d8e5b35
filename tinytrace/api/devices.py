"""Devices, of which there is one: the CPU. `device_put` and its kin are what programs written for JAX call."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.api.program import as_array
from tinytrace.core.array import CPU, Array, Device
from tinytrace.core.avals import aval_of, is_valid_type
from tinytrace.core.dtypes import KeyType
from tinytrace.core.trace import Tracer
from tinytrace.core.trees import tree_leaves, tree_map


def devices(backend: str | None = None) -> list[Device]:
    """Return the list of devices: the CPU.

    Raises: RuntimeError for a backend other than cpu.

    >>> devices()
    [CpuDevice(id=0)]
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend: '{backend}' requested, but no platforms that are instances of {backend} "
                           "are present. tinytrace computes on the cpu.")
    return [CPU]


def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Device]:
    """Return the devices of this process: the CPU."""
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    """Return 1."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """Return 1."""
    return len(devices(backend))


def process_count(backend: str | None = None) -> int:
    """Return how many processes compute together: 1."""
    return len(devices(backend))


def process_index(backend: str | None = None) -> int:
    """Return the number of this process: 0."""
    return 0


def process_indices(backend: str | None = None) -> list[int]:
    """Return the numbers of all processes: that of this one."""
    return [0]


def default_backend() -> str:
    """Return `cpu`."""
    return CPU.platform


def device_put(x: Any, device: Any = None, **options: Any) -> Any:
    """Return the tree `x` with its leaves as Arrays.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.device_put.html.
    """
    for one in tree_leaves(device):
        if not isinstance(one, Device):
            raise ValueError("`jax.device_put` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`, `Layout` or "
                             f"a pytree of these values. Received invalid value: {one}")
    return tree_map(lambda leaf: leaf if isinstance(leaf, (Array, Tracer)) else _placed(leaf), x)


def _placed(leaf: Any) -> Any:
    if not is_valid_type(leaf):
        raise TypeError(f"Argument '{leaf}' of type {type(leaf)} is not a valid JAX type")
    return as_array(leaf, aval_of(leaf))


def device_get(x: Any) -> Any:
    """Return the tree `x` with its Arrays as NumPy arrays; tracers and typed keys stay what they are.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.device_get.html.
    """
    return tree_map(_on_host, x)


def _on_host(leaf: Any) -> Any:
    if isinstance(leaf, Tracer) or isinstance(getattr(leaf, "dtype", None), KeyType) or not hasattr(leaf, "__array__"):
        return leaf
    return leaf.__array__()


def block_until_ready(x: Any) -> Any:
    """Return the tree `x` when all its arrays are computed: at once."""
    return x
