"""The device: where arrays live, and what programs are fed from."""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np


class Feed:
    """A queue between threads; the standard library's takes half a millisecond to import."""

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._count = threading.Semaphore(0)

    def put(self, item: Any) -> None:
        """Add something."""
        self._items.append(item)
        self._count.release()

    def get(self) -> Any:
        """Wait for what has been there longest, and take it."""
        self._count.acquire()
        return self._items.popleft()


class Device:
    """Where arrays live; there is one, the CPU."""

    id = 0
    platform = device_kind = "cpu"
    process_index = 0

    def __init__(self) -> None:
        self.infeed, self.outfeed = Feed(), Feed()

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
