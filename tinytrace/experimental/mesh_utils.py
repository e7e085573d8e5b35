"""`jax.experimental.mesh_utils`: the devices of a mesh in their order. There is one."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.api.devices import devices as all_devices
from tinytrace.missing import DEVICES, refused

create_hybrid_device_mesh = refused("jax.experimental.mesh_utils.create_hybrid_device_mesh", DEVICES)


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, **options: Any) -> Any:
    """Return an array of devices of a shape, all of whose sizes are 1.

    Raises: ValueError when there are not so many devices.

    >>> create_device_mesh((1, 1))
    array([[CpuDevice(id=0)]], dtype=object)
    """
    chosen = all_devices() if devices is None else list(devices)
    if math.prod(mesh_shape) != len(chosen):
        raise ValueError(f"Number of devices {len(chosen)} must equal the product of mesh_shape {tuple(mesh_shape)}")
    return np.array(chosen, dtype=object).reshape(mesh_shape)
