"""`jax.sharding.GSPMDSharding`: how an array lies on devices, in the words of XLA (`HloSharding`)."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tinytrace.core.array import CPU, Device
from tinytrace.missing import DEVICES
from tinytrace.sharding import Sharding, SingleDeviceSharding


class HloSharding:
    """XLA's word for how an array lies: "{replicated}", or how often each axis is cut.

    >>> HloSharding.iota_tile((1, 1))
    {devices=[1,1]<=[1]}
    """

    def __init__(self, cuts: tuple[int, ...] | None) -> None:
        self._cuts = cuts

    @staticmethod
    def replicate() -> HloSharding:
        """Return that of an array of which every device has all."""
        return HloSharding(None)

    @staticmethod
    def iota_tile(dims: Sequence[int]) -> HloSharding:
        """Return that of an array cut so often along its axes; raises ValueError where it takes several devices."""
        if math.prod(dims) != 1:
            raise ValueError(f"an array in {math.prod(dims)} parts: {DEVICES}")
        return HloSharding(tuple(dims))

    def is_replicated(self) -> bool:
        """Has every device all of the array? The only device has."""
        return True

    def is_tiled(self) -> bool:
        """Is it said how often the axes are cut?"""
        return self._cuts is not None

    def tile_assignment_dimensions(self) -> list[int]:
        """Return how often each axis is cut."""
        return list(self._cuts or ())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HloSharding) and self._cuts == other._cuts

    def __hash__(self) -> int:
        return hash(self._cuts)

    def __repr__(self) -> str:
        return "{replicated}" if self._cuts is None else f"{{devices=[{','.join(map(str, self._cuts))}]<=[1]}}"


class GSPMDSharding(Sharding):
    """An array that lies on devices as an `HloSharding` says.

    Raises: TypeError for what is no HloSharding, ValueError for more than one device and another kind of memory.

    >>> GSPMDSharding.get_replicated(jax.devices())
    GSPMDSharding({replicated}, memory_kind=unpinned_host)
    """

    def __init__(self, devices: Sequence[Device], op_sharding: HloSharding, *, memory_kind: str | None = None) -> None:
        SingleDeviceSharding(CPU, memory_kind=memory_kind)  # says what kinds of memory there are
        if not isinstance(op_sharding, HloSharding):
            raise TypeError(f"GSPMDSharding takes an HloSharding, such as HloSharding.replicate(), not {op_sharding!r}")
        if len(tuple(devices)) != 1:
            raise ValueError(f"a sharding over {len(tuple(devices))} devices: {DEVICES}")
        self._devices, self._hlo_sharding = tuple(devices), op_sharding

    @classmethod
    def get_replicated(cls, device_assignment: Sequence[Device], *, memory_kind: str | None = None) -> GSPMDSharding:
        """Return the sharding of arrays of which every device has all."""
        return cls(device_assignment, HloSharding.replicate(), memory_kind=memory_kind)

    def check_compatible_aval(self, shape: Sequence[int]) -> None:
        cuts = self._hlo_sharding.tile_assignment_dimensions()
        if len(shape) < len(cuts):
            raise ValueError(f"Sharding {self} is only valid for values of rank at least {len(cuts)}, but was applied "
                             f"to a value of rank {len(shape)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GSPMDSharding)  # on one device an array that is cut once along each axis is whole

    def __hash__(self) -> int:
        return hash(GSPMDSharding)

    def __repr__(self) -> str:
        return f"GSPMDSharding({self._hlo_sharding!r}, memory_kind={self.memory_kind})"


def is_op_sharding_replicated(op: Any) -> bool:
    """Has every device all of the array?"""
    return bool(op.is_replicated())


def are_op_shardings_equal(op1: Any, op2: Any) -> bool:
    """Do two say the same? On one device an array that is cut once along each axis is replicated."""
    return op1 is op2 or (is_op_sharding_replicated(op1) and is_op_sharding_replicated(op2)) or op1 == op2


def op_sharding_to_indices(op_sharding: Any, shape: Sequence[int], num_devices: int) -> tuple[tuple[slice, ...], ...]:
    """Return which part of an array of this shape each device has."""
    return tuple((slice(None),) * len(shape) for _ in range(num_devices))
