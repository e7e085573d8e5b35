"""`jax.sharding.PmapSharding`: how the arrays of `pmap` lie, one slice of an axis on each device, and its specs.

A spec says of each axis of an array how it is cut (`NoSharding`, `Chunked`, `Unstacked`), and of the devices which of
them hold which part (`ShardedAxis`, `Replicated`). Source: `jax.sharding.PmapSharding` and `jax.interpreters.pxla`.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.array import CPU, Device
from tinytrace.missing import DEVICES
from tinytrace.records import dataclass
from tinytrace.sharding import Sharding

Index = tuple[Any, ...]


@dataclass(frozen=True)
class NoSharding:
    """An axis that is not cut."""

    def __repr__(self) -> str:
        return "NoSharding()"


@dataclass(frozen=True)
class Chunked:
    """An axis that is cut into parts, which keep the axis; `chunks`: along each axis of the devices, how many."""

    chunks: Sequence[int]

    def __hash__(self) -> int:
        return hash(tuple(self.chunks))

    def __repr__(self) -> str:
        return f"Chunked({','.join(map(str, self.chunks))})"


@dataclass(frozen=True)
class Unstacked:
    """An axis that is cut into parts without the axis."""

    size: int

    def __repr__(self) -> str:
        return f"Unstacked({self.size})"


@dataclass(frozen=True)
class ShardedAxis:
    """Devices hold the parts of this axis among those that are cut."""

    axis: int


@dataclass(frozen=True)
class Replicated:
    """So many devices hold the same."""

    replicas: int


@dataclass(frozen=True)
class ShardingSpec:
    """How the axes of an array are cut, and how the parts are given to devices."""

    sharding: tuple[Any, ...]
    mesh_mapping: tuple[Any, ...]

    def __init__(self, sharding: Sequence[Any], mesh_mapping: Sequence[Any]) -> None:
        object.__setattr__(self, "sharding", tuple(sharding))
        object.__setattr__(self, "mesh_mapping", tuple(mesh_mapping))

    def indices(self, shape: Sequence[int]) -> np.ndarray[Any, Any]:
        """Return which part of an array of this shape each device holds, in the axes of the devices."""
        parts, counts = _parts(shape, self.sharding)
        sizes = [counts[x.axis] if isinstance(x, ShardedAxis) else x.replicas for x in self.mesh_mapping]
        axes = [x.axis for x in self.mesh_mapping if isinstance(x, ShardedAxis)]
        found = np.empty(sizes, object)
        for place in np.ndindex(*sizes):
            along = [at for at, x in zip(place, self.mesh_mapping, strict=True) if isinstance(x, ShardedAxis)]
            found[place] = parts[tuple(along[axes.index(k)] for k in range(len(axes)))]
        return found

    def __repr__(self) -> str:
        return f"ShardingSpec({self.sharding!r}, {self.mesh_mapping!r})"


def _parts(shape: Sequence[int], sharding: Sequence[Any]) -> tuple[dict[tuple[int, ...], Index], list[int]]:
    """Return each part of an array by its place among the axes that are cut, and the sizes of those axes."""
    counts: list[int] = []
    choices: list[list[tuple[tuple[int, ...], Any]]] = []
    for n, how in zip(shape, sharding, strict=True):
        if isinstance(how, NoSharding):
            choices.append([((), slice(None))])
        elif isinstance(how, Unstacked):
            counts.append(how.size)
            choices.append([((i,), i) for i in range(how.size)])
        else:
            counts += how.chunks
            places = itertools.product(*map(range, how.chunks))
            step = n // int(np.prod(how.chunks))
            choices.append([(place, slice(i * step, (i + 1) * step)) for i, place in enumerate(places)])
    parts = {}
    for chosen in itertools.product(*choices):
        parts[tuple(i for place, _ in chosen for i in place)] = tuple(index for _, index in chosen)
    return parts, counts


def spec_to_indices(shape: Sequence[int], spec: ShardingSpec) -> tuple[Index, ...]:
    """Return which part of an array each device holds, in the order of the devices.

    >>> spec_to_indices((4, 3), ShardingSpec([Chunked([2]), NoSharding()], [ShardedAxis(0)]))
    ((slice(0, 2, None), slice(None, None, None)), (slice(2, 4, None), slice(None, None, None)))
    """
    return tuple(spec.indices(shape).flat)


class PmapSharding(Sharding):
    """An array one of whose axes lies along the devices of `pmap`, of which there is one.

    Raises: ValueError for more devices.

    >>> PmapSharding.default((1, 3)).sharding_spec
    ShardingSpec((Chunked(1), NoSharding()), (ShardedAxis(axis=0),))
    """

    is_of_pmap = True

    def __init__(self, devices: Any, sharding_spec: ShardingSpec) -> None:
        self.devices = np.asarray(devices)
        if self.devices.size != 1:
            raise ValueError(f"a sharding over {self.devices.size} devices: {DEVICES}")
        self.sharding_spec = sharding_spec

    @classmethod
    def default(cls, shape: Sequence[int], sharded_dim: int | None = 0, devices: Sequence[Device] | None = None
                ) -> PmapSharding:
        """Return the sharding of an array of this shape whose axis `sharded_dim` is mapped over."""
        if sharded_dim is None or not 0 <= sharded_dim < len(shape):
            raise ValueError(f"sharded_dim={sharded_dim} is no axis of an array of shape {tuple(shape)}")
        sharding = [Chunked([n]) if k == sharded_dim else NoSharding() for k, n in enumerate(shape)]
        return cls([CPU] if devices is None else devices, ShardingSpec(sharding, [ShardedAxis(0)]))

    @classmethod
    def of_result(cls, ndim: int, axis: int | None) -> PmapSharding:
        """Return how a result of `pmap` lies that has its axis of devices there, or none, being the same on all."""
        return _of_result(ndim, None if axis is None else axis % ndim)

    @property
    def is_fully_replicated(self) -> bool:  # type: ignore[override]
        """Does each device have all of the array?"""
        return not any(isinstance(how, Chunked | Unstacked) for how in self.sharding_spec.sharding)

    def check_compatible_aval(self, shape: Sequence[int]) -> None:
        for axis, (n, how) in enumerate(zip(shape, self.sharding_spec.sharding, strict=True)):
            if isinstance(how, Chunked | Unstacked) and n != self.devices.size:
                raise ValueError(
                    "The sharded dimension must be equal to the number of devices passed to PmapSharding. Got sharded "
                    f"dimension {axis} with value {n} in shape {tuple(shape)} and the number of devices="
                    f"{self.devices.size}")

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        self.check_compatible_aval(global_shape)
        kept = zip(global_shape, self.sharding_spec.sharding, strict=True)
        return tuple(1 if isinstance(how, Chunked) else n for n, how in kept if not isinstance(how, Unstacked))

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        self.check_compatible_aval(global_shape)
        return {CPU: spec_to_indices(global_shape, self.sharding_spec)[0]}

    addressable_devices_indices_map = devices_indices_map

    def with_memory_kind(self, kind: str) -> Sharding:
        raise NotImplementedError("pmap does not support memories.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PmapSharding) and self.sharding_spec == other.sharding_spec

    def __hash__(self) -> int:
        return hash(self.sharding_spec)

    def __str__(self) -> str:
        return (f"PmapSharding(sharding_spec={self.sharding_spec}, device_ids={[d.id for d in self.devices.flat]}, "
                f"device_platform={CPU.platform.upper()}, device_shape={self.devices.shape})")

    def __repr__(self) -> str:
        return f"PmapSharding(sharding_spec={self.sharding_spec}, devices={self.devices})"


@functools.lru_cache(1024)
def _of_result(ndim: int, axis: int | None) -> PmapSharding:
    cut = [Chunked([1]) if k == axis else NoSharding() for k in range(ndim)]
    return PmapSharding([CPU], ShardingSpec(cut, [Replicated(1) if axis is None else ShardedAxis(0)]))
