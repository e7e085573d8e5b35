"""The device: where arrays live, and what programs are fed from."""
from __future__ import annotations

from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np


class Device:
    """Where arrays live; there is one, the CPU."""

    id = 0
    platform = device_kind = "cpu"
    process_index = 0

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

    def __reduce__(self) -> str:
        return "CPU"

    def __str__(self) -> str:
        return "TFRT_CPU_0"

    def __repr__(self) -> str:
        return "CpuDevice(id=0)"


CPU = Device()
