"""From compiled code to Python functions of arrays: buffers at addresses become arrays, results fill buffers."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tinytrace.core.array import storage_dtype
from tinytrace.core.avals import ShapedArray
from tinytrace.runtime.callbacks import HostFunction

if TYPE_CHECKING:
    from tinytrace.codegen.plan.unit import Callback


class HostCalls:
    """The callbacks of one program; they may be called as long as this object lives. `ids`: i64[n], their numbers."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._callable = [HostFunction(_on_addresses(callback), len(callback.in_avals) + len(callback.out_avals))
                          for callback in callbacks]
        self.ids = np.array([each.number for each in self._callable], np.int64)


def _on_addresses(callback: Callback) -> Any:
    """Return what the runtime calls: it reads operands at the first addresses and writes results to the others."""

    def call(addresses: list[int]) -> None:
        count = len(callback.in_avals)
        args = [np.array(_array_at(address, aval, False)) for address, aval in
                zip(addresses[:count], callback.in_avals, strict=True)]
        results = callback.function(*args)
        for address, aval, result in zip(addresses[count:], callback.out_avals, results, strict=True):
            _array_at(address, aval, True)[...] = result

    return call


class _Window:
    """What `np.asarray` reads to see memory as an array."""

    def __init__(self, address: int, aval: ShapedArray, writable: bool) -> None:
        self.__array_interface__ = {"data": (address, not writable), "shape": aval.shape, "version": 3,
                                    "typestr": f"|V{storage_dtype(aval).itemsize}"}


def _array_at(address: int, aval: ShapedArray, writable: bool) -> np.ndarray[Any, Any]:
    return np.asarray(_Window(address, aval, writable)).view(storage_dtype(aval))
