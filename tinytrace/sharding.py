"""`jax.sharding`: where the parts of arrays lie. On one device there is one answer; programs may name the others.

Meshes of one device and specs of axes are values here, and a sharding over such a mesh is true of every array whose
rank fits it: `device_put` and `with_sharding_constraint` look at that. A mesh of more devices is refused.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.array import CPU, Device
from tinytrace.core.device import MEMORY
from tinytrace.meshes import AbstractMesh as AbstractMesh
from tinytrace.meshes import Mesh as Mesh
from tinytrace.meshes import ResourceEnv as ResourceEnv
from tinytrace.meshes import make_mesh as make_mesh
from tinytrace.meshes import meshes_in_use as meshes_in_use
from tinytrace.missing import DEVICES
from tinytrace.util import lazy_names

__getattr__ = lazy_names("tinytrace", {"PmapSharding": "pmap_sharding", "GSPMDSharding": "gspmd_sharding"}, __name__)


HOST_MEMORY = MEMORY.kind
"""The kind of memory that JAX says a CPU has."""


class Sharding:
    """Where the parts of an array lie."""

    memory_kind = HOST_MEMORY
    num_devices = 1
    is_of_pmap = False

    @property
    def device_set(self) -> set[Device]:
        """The devices: the CPU."""
        return {CPU}

    addressable_devices = device_set

    def check_compatible_aval(self, shape: Sequence[int]) -> None:
        """Raise ValueError when arrays of this shape cannot lie so: one has too few axes."""

    def require_fit(self, shape: Sequence[int], which: str) -> None:
        """Raise ValueError, with the words of JAX, when one of `which` has a shape that cannot lie so."""
        try:
            self.check_compatible_aval(shape)
        except ValueError as error:
            raise ValueError(f"One of {which} is incompatible with its sharding annotation {self}: {error}") from None

    def refuse_of_pmap(self, which: str) -> None:
        """Raise ValueError when it is a sharding of `pmap`, and one of `which`, where there are no such ones."""
        if self.is_of_pmap:
            raise ValueError(f"One of {which} leaf specifications got sharding {self} which is not allowed.")

    def with_free_axis(self, axis: int) -> Sharding:
        """Return the sharding of arrays with another axis, of which nothing is said."""
        return self

    def with_memory_kind(self, kind: str) -> Sharding:
        """Return this sharding, in the only kind of memory that there is; raises ValueError for another kind."""
        _check_memory(kind)
        return self
    is_fully_addressable = is_fully_replicated = True

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of one part: of the whole."""
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, tuple[slice, ...]]:
        """Return which part lies on which device."""
        return {CPU: (slice(None),) * len(global_shape)}

    addressable_devices_indices_map = devices_indices_map

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Do arrays of `ndim` axes lie in the same way? On one device they do; JAX compares those of `pmap` by `==`."""
        return (isinstance(other, Sharding) and not (self.is_of_pmap or other.is_of_pmap)) or self == other


class SingleDeviceSharding(Sharding):
    """The whole array lies on one device.

    >>> SingleDeviceSharding(CPU)
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=unpinned_host)
    """

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        _check_memory(memory_kind)
        self.device = device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r}, memory_kind={self.memory_kind})"


class Shard:
    """The part of an array that lies on a device: `data`, at `index` of the array.

    >>> jnp.zeros(3).addressable_shards[0].index
    (slice(None, None, None),)
    """

    replica_id = 0

    def __init__(self, device: Device, data: Any) -> None:
        self.device, self.data = device, data
        self.index = data.sharding.devices_indices_map(data.shape)[device]

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data})"


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


class NamedSharding(Sharding):
    """An array cut along the axes of a mesh.

    Raises: ValueError when `spec` names an axis that the mesh has not, or one twice.
    """

    def __init__(self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None) -> None:
        _check_memory(memory_kind)
        if not isinstance(spec, PartitionSpec):
            raise TypeError("NamedSharding spec leaf specifications are expected to be PartitionSpec instances or "
                            f"None, but got {spec[0] if spec else spec}")
        seen: set[Any] = set()
        for name in (name for names in spec for name in (names if isinstance(names, tuple) else (names,))):
            if name is None or name is PartitionSpec.UNCONSTRAINED:
                continue
            if name not in mesh.axis_names:
                raise ValueError(f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}.")
            if name in seen:
                raise ValueError("A single NamedSharding spec specification can map every mesh axis to at most one "
                                 f"positional dimension, but {spec} has duplicate entries for `{name}`")
            seen.add(name)
        self.mesh, self.spec = mesh, spec

    @property
    def device_set(self) -> set[Device]:
        """The devices; raises ValueError where the mesh has none."""
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError("device_set is not implemented for `jax.sharding.AbstractMesh`.")
        return {CPU}

    addressable_devices = device_set

    @property
    def num_devices(self) -> int:  # type: ignore[override]
        """How many devices there are, or would be."""
        return self.mesh.size

    @property
    def is_fully_replicated(self) -> bool:  # type: ignore[override]
        """Does each device have all of the array?"""
        return math.prod(self._ways(len(self.spec))) == 1

    def _ways(self, ndim: int) -> list[int]:
        """Return into how many parts each axis is cut."""
        names = [(x if isinstance(x, tuple) else (x,)) for x in (*self.spec, *[None] * ndim)]
        return [math.prod(self.mesh.shape.get(name, 1) for name in along) for along in names[:ndim]]

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        self.check_compatible_aval(global_shape)
        return tuple(n // ways for n, ways in zip(global_shape, self._ways(len(global_shape)), strict=True))

    def check_compatible_aval(self, shape: Sequence[int]) -> None:
        if len(shape) < len(self.spec):
            raise ValueError(f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but was "
                             f"applied to a value of rank {len(shape)}."
                             + ("" if shape else " For scalars the PartitionSpec should be P()"))

    def with_free_axis(self, axis: int) -> NamedSharding:
        spec = [*self.spec, *[None] * (axis - len(self.spec))]
        return NamedSharding(self.mesh, PartitionSpec(*spec[:axis], PartitionSpec.UNCONSTRAINED, *spec[axis:]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and (self.mesh, self.spec) == (other.mesh, other.spec)

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __repr__(self) -> str:
        mesh = f"Mesh({', '.join(f'{name!r}: {size}' for name, size in self.mesh.shape_tuple)})"
        memory = "" if isinstance(self.mesh, AbstractMesh) else f", memory_kind={self.memory_kind}"
        return f"NamedSharding(mesh={mesh}, spec={self.spec!r}{memory})"


class PositionalSharding(Sharding):
    """An array cut along the axes of an array of devices, which is of one device.

    >>> PositionalSharding([CPU]).reshape(1, 1)
    PositionalSharding([[{CPU 0}]], memory_kind=unpinned_host, shape=(1, 1))
    """

    def __init__(self, devices: Any, *, memory_kind: str | None = None) -> None:
        _check_memory(memory_kind)
        self._devices = np.array(devices, dtype=object)
        if self._devices.size != 1:
            raise ValueError(f"a sharding over {self._devices.size} devices: {DEVICES}")

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes: all are 1."""
        return self._devices.shape

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return self._devices.ndim

    def reshape(self, *shape: Any) -> PositionalSharding:
        """Return the sharding with other axes."""
        return PositionalSharding(self._devices.reshape(*shape))

    def replicate(self, axis: Any = None, keepdims: bool = True) -> PositionalSharding:
        """Return the sharding in which every device has a copy, which is this one."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositionalSharding) and self.shape == other.shape

    def __hash__(self) -> int:
        return hash(self.shape)

    def __repr__(self) -> str:
        devices = np.array2string(np.full(self.shape, "{CPU 0}", object), formatter={"object": str})
        return f"PositionalSharding({devices}, memory_kind={self.memory_kind}, shape={self.shape})"


def _check_memory(kind: str | None) -> None:
    if kind not in (None, HOST_MEMORY):
        raise ValueError("Could not find memory addressable by device cpu. Device cpu can address the following memory "
                         f"kinds: {HOST_MEMORY}. Got memory kind: {kind}")


XLACompatibleSharding = Sharding
