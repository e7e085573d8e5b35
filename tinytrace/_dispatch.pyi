"""Types of the extension module csrc/dispatch.c: the hit path of jitted calls."""

from collections.abc import Callable
from typing import Any

FROM_KERNEL: int
FROM_LEAF: int
CONSTANT: int

class Buffer:
    address: int
    nbytes: int
    def __init__(self, nbytes: int, /) -> None: ...

class ArrayBase:
    aval: Any
    _buffer: Buffer | None
    _view: Any
    _address: int
    def __init__(self, aval: Any, buffer: Buffer | None, view: Any = None) -> None: ...

class FastEntry:
    def __init__(self, owner: object, entry: int, workspace: int, inputs: tuple[tuple[int, int, str], ...],
                 out_bytes: tuple[int, ...], outputs: tuple[tuple[int, int, Any], ...], out_avals: tuple[Any, ...],
                 unflatten: Callable[[list[Any]], Any] | None, /) -> None: ...

class FastCallable:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def _configure(self, miss: Callable[..., Any], static_positions: tuple[int, ...],
                   static_names: tuple[str, ...], /) -> None: ...
    def _learn(self, args: tuple[Any, ...], kwargs: dict[str, Any], entry: FastEntry, /) -> bool: ...

def set_pool(alloc: int, free: int, call: int, /) -> None: ...
def set_array_type(array_type: type, /) -> None: ...
def set_trace_state(state: object, bottom: object, raise_status: Callable[[int], Any], /) -> None: ...
def set_paused(on: bool, /) -> None: ...
def forget() -> None: ...
