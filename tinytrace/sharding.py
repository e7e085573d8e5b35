"""`jax.sharding`: where the parts of arrays lie. On one device there is one answer; programs may name the others.

Meshes of one device and specs of axes are values here, and a NamedSharding over such a mesh is true of every array.
A mesh of more devices is refused.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from tinytrace.core.array import CPU, Device
from tinytrace.missing import DEVICES, refused
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)


class Sharding:
    """Where the parts of an array lie."""

    memory_kind = None

    @property
    def device_set(self) -> set[Device]:
        """The devices: the CPU."""
        return {CPU}

    addressable_devices = device_set
    is_fully_addressable = is_fully_replicated = True

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of one part: of the whole."""
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, tuple[slice, ...]]:
        """Return which part lies on which device."""
        return {CPU: (slice(None),) * len(global_shape)}

    addressable_devices_indices_map = devices_indices_map

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Do arrays of `ndim` axes lie in the same way? On one device they do."""
        return isinstance(other, Sharding)


class SingleDeviceSharding(Sharding):
    """The whole array lies on one device.

    >>> SingleDeviceSharding(CPU)
    SingleDeviceSharding(device=CpuDevice(id=0))
    """

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        self.device, self.memory_kind = device, memory_kind  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r})"


class _Unconstrained:
    def __repr__(self) -> str:
        return "UNCONSTRAINED"


class PartitionSpec(tuple[Any, ...]):
    """For each axis of an array the axis of the mesh along which it is cut, or None.

    >>> PartitionSpec("x", None)
    PartitionSpec('x', None)
    """

    UNCONSTRAINED = _Unconstrained()

    def __new__(cls, *partitions: Any) -> PartitionSpec:
        return tuple.__new__(cls, partitions)

    def __repr__(self) -> str:
        return f"PartitionSpec{tuple(self)!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        return PartitionSpec, tuple(self)


class Mesh:
    """Devices in an array whose axes have names; here of one device, or of none.

    Raises: ValueError for more devices, and when there is not one name for each axis.

    >>> mesh = Mesh([CPU], ("x",))
    >>> mesh.shape, mesh.axis_names
    ({'x': 1}, ('x',))
    """

    def __init__(self, devices: Any, axis_names: Any, **options: Any) -> None:
        self.devices = np.array(devices, dtype=object)
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if self.devices.size > 1:
            raise ValueError(f"a mesh of {self.devices.size} devices: {DEVICES}")
        if not self.empty and self.devices.ndim != len(self.axis_names):
            raise ValueError("Mesh requires the ndim of its first argument (`devices`) to equal the length of its "
                             f"second argument (`axis_names`), but got devices.ndim == {self.devices.ndim} and "
                             f"len(axis_names) == {len(self.axis_names)}.")

    @property
    def empty(self) -> bool:
        """Is it of no devices?"""
        return self.devices.size == 0

    @property
    def shape(self) -> dict[Any, int]:
        """The sizes of the axes by name."""
        return dict(zip(self.axis_names, self.devices.shape, strict=False))

    @property
    def size(self) -> int:
        """How many devices: 1, or 0."""
        return math.prod(self.devices.shape)

    def __enter__(self) -> Mesh:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and (self.axis_names, self.shape) == (other.axis_names, other.shape)

    def __hash__(self) -> int:
        return hash((self.axis_names, tuple(self.devices.shape)))

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{name!r}: {size}' for name, size in self.shape.items())})"


class NamedSharding(Sharding):
    """An array cut along the axes of a mesh."""

    def __init__(self, mesh: Mesh, spec: PartitionSpec, *, memory_kind: str | None = None) -> None:
        unknown = [name for names in spec for name in (names if isinstance(names, tuple) else (names,))
                   if isinstance(name, str) and name not in mesh.axis_names]
        if unknown:
            raise ValueError(f"Resource axis: {unknown[0]} of {spec} is not found in mesh: {mesh.axis_names}.")
        self.mesh, self.spec, self.memory_kind = mesh, spec, memory_kind  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and (self.mesh, self.spec) == (other.mesh, other.spec)

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh!r}, spec={self.spec!r})"


GSPMDSharding = refused("jax.sharding.GSPMDSharding", DEVICES)
PmapSharding = refused("jax.sharding.PmapSharding", DEVICES)
PositionalSharding = refused("jax.sharding.PositionalSharding", DEVICES)
AbstractMesh = refused("jax.sharding.AbstractMesh", DEVICES)
XLACompatibleSharding = Sharding
