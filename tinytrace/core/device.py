"""The device: where arrays live, and what programs are fed from."""
from __future__ import annotations

from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from tinytrace.errors import JaxRuntimeError


class Memory:
    """What arrays lie in: the memory of the machine, the only one of the device.

    >>> CPU.default_memory().kind
    'unpinned_host'
    """

    id = process_index = 0
    kind, platform = "unpinned_host", "cpu"

    def addressable_by_devices(self) -> list[Device]:
        """Return the devices that read and write it."""
        return [CPU]

    def __str__(self) -> str:
        return "UnpinnedHostMemorySpace(id=0, process_index=0, client=cpu)"

    def __repr__(self) -> str:
        return "UNPINNED_HOST_0"


class Device:
    """Where arrays live; there is one, the CPU."""

    id = local_hardware_id = process_index = host_id = task_id = 0
    platform = device_kind = "cpu"

    def __init__(self) -> None:
        self.infeed: SimpleQueue[Any] = SimpleQueue()
        self.outfeed: SimpleQueue[Any] = SimpleQueue()

    def transfer_to_infeed(self, values: Sequence[Any]) -> None:
        """Feed arrays to the device: the next `lax.infeed` takes them."""
        self.infeed.put(tuple(np.array(x) for x in values))

    def transfer_from_outfeed(self, shape: Any = None) -> Any:
        """Wait for the arrays that the next `lax.outfeed` hands on; `shape` says whether they are a tuple or one."""
        values = self.outfeed.get()
        return values if shape is None or shape.is_tuple() else values[0]

    def memory(self, kind: str) -> Memory:
        """Return the memory of this kind; raises JaxRuntimeError for a kind that a CPU has not."""
        if kind != MEMORY.kind:
            raise JaxRuntimeError(
                f"INVALID_ARGUMENT: Could not find memory addressable by device {self.device_kind}. Device "
                f"{self.device_kind} can address the following memory kinds: {MEMORY.kind}. Got memory kind: {kind}")
        return MEMORY

    def default_memory(self) -> Memory:
        """Return the memory in which arrays are made."""
        return MEMORY

    def addressable_memories(self) -> list[Memory]:
        """Return the memories that it reads and writes."""
        return [MEMORY]

    def memory_stats(self) -> None:
        """Return None: a CPU does not count what it gives out."""

    def __reduce__(self) -> str:
        return "CPU"

    def __str__(self) -> str:
        return "TFRT_CPU_0"

    def __repr__(self) -> str:
        return "CpuDevice(id=0)"


CPU = Device()
MEMORY = Memory()
