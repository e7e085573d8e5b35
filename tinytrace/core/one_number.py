"""Arrays that are one number everywhere: one element in memory, which they share until somebody looks at them.

`zeros` makes no block and writes nothing. Who needs the elements in order, a compiled program or whoever gets to see
them (`np.asarray`, DLPack, the buffer protocol), gets a block of the array's own; `ArrayBase._value` sees to that, for
parts of such arrays too. So what others do to memory that they were given changes no other array.
"""
from __future__ import annotations

import threading

import numpy as np

from tinytrace import _dispatch
from tinytrace.core.array import Array, array_of_own, storage_dtype
from tinytrace.core.avals import ShapedArray

MOST, WIDEST = 256, 16
"""How many numbers there is room for, and the bytes of the widest."""

_memory = np.zeros((MOST, WIDEST), np.uint8)
_places: dict[bytes, int] = {}
_lock = threading.Lock()
_dispatch.set_shared_memory(_memory.ctypes.data, _memory.nbytes)


def array_of_number(element: bytes, aval: ShapedArray) -> Array | None:
    """Return an array each element of which is these bytes; None where there is no room for another number."""
    with _lock:
        if element not in _places and len(_places) == MOST:
            return None
        place = _memory[_places.setdefault(element, len(_places))]
    place[:len(element)] = np.frombuffer(element, np.uint8)
    view = np.ndarray(aval.shape, storage_dtype(aval), memoryview(place).toreadonly(), strides=(0,) * len(aval.shape))
    return array_of_own(view, aval)
