"""What csrc/dispatch.c and its neighbours do, in Python: arrays, the current trace, calls that are not learnt.

`_dispatch.pyi` has the interface. The hit path is missing: every call is a miss, and goes to the function's own cache.
"""
from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tinytrace.pure.trees import append_leaves, built, flatten_into, set_trees, subtrees

__all__ = ["append_leaves", "built", "flatten_into", "set_trees", "subtrees"]

FROM_KERNEL, FROM_LEAF, CONSTANT = range(3)


# --- arrays (csrc/arrays.c) --------------------------------------------------------------------------------------

class Buffer:
    """Bytes for the elements of arrays, 64-byte aligned."""

    def __init__(self, nbytes: int, /) -> None:
        if nbytes < 0:
            raise ValueError(f"a buffer of {nbytes} bytes")
        try:
            self._memory = np.zeros(nbytes + 128, np.uint8)
        except (ValueError, OverflowError):
            raise MemoryError("Unable to allocate an array larger than the address space") from None
        self.nbytes = nbytes
        address = self._memory.__array_interface__["data"][0]
        self.address = address + -address % 64


class ArrayBase:
    """The fields of an Array; see core/array.py."""

    __slots__ = ("__weakref__", "_buffer", "_seen", "_view", "aval")
    aval: Any
    _buffer: Buffer | None
    _view: Any
    _seen: Any

    def __new__(cls, aval: Any, buffer: Buffer | None, view: Any = None) -> ArrayBase:
        if buffer is not None and type(buffer) is not Buffer:
            raise TypeError(f"an Array's elements are in a Buffer or a NumPy array, got {buffer!r}")
        if buffer is None and not isinstance(view, np.ndarray):
            raise TypeError(f"an Array needs elements: a Buffer or a NumPy array, got {view!r}")
        self = super().__new__(cls)
        self.aval, self._buffer, self._view, self._seen = aval, buffer, view, None
        return self

    @property
    def _value(self) -> Any:
        """The elements as a NumPy array that cannot be written (no copy)."""
        with _lock:
            if self._seen is None:
                self._seen = _hooks.read_only_view(self.aval, self._buffer, self._view)
            return self._seen

    @property
    def _deleted(self) -> bool:
        """Has it no elements any more?"""
        return self._buffer is None and self._view is None

    @property
    def _looked_at(self) -> bool:
        """Does somebody hold what `_value` gave?"""
        seen = self._seen
        return seen is not None and (sys.getrefcount(seen) > 3 or sys.getrefcount(seen.base) > 2)

    def _settle(self, buffer: Buffer, /) -> Buffer | None:
        """Let `buffer` hold the elements for good; the one that another thread filled first wins. None: it is deleted.
        """
        with _lock:
            if self._buffer is None and self._view is not None:
                self._seen = self._seen if self._looked_at else None
                self._buffer, self._view = buffer, None
            return self._buffer

    def _delete(self) -> None:
        """Let it have no elements from now on."""
        with _lock:
            self._buffer = self._view = self._seen = None

    def __getitem__(self, index: Any, /) -> Any:
        return _hooks.getitem(self, index)


def live_arrays() -> list[Any]:
    """Return the Arrays that have elements; the collector knows them here, but those that are frozen."""
    return [x for x in gc.get_objects() if type(x) is _hooks.array and not x._deleted]


def array_copied(array: ArrayBase, /) -> Any:
    """Return another array with elements of its own."""
    return _hooks.array(array.aval, None, np.array(array._value))


def array_counted(aval: Any, start: int, step: int, count: int, width: int, /) -> Any:
    """Return an array of the integers start, start + step, ..., of so many bytes."""
    elements = np.array(range(start, start + step * count, step), aval.dtype)
    return _hooks.array(aval, None, elements)


def array_filled(aval: Any, element: bytes, count: int, /) -> Any:
    """Return an array of so many elements, each of which is these bytes."""
    elements = np.frombuffer(element * max(count, 1), aval.dtype)[:count].reshape(aval.shape)
    return _hooks.array(aval, None, elements)


def array_of_view(aval: Any, view: Any, /) -> Any:
    """Return an array whose elements are those of a read-only NumPy array."""
    return _hooks.array(aval, None, view)


def rows(array: ArrayBase, aval: Any, start: int, stop: int, /) -> list[Any]:
    """Return the parts along the first axis, each of type `aval`, as views of the same elements."""
    return [_hooks.array(aval, None, array._value[i, ...]) for i in range(start, stop)]


# --- the current trace (csrc/traces.c) ---------------------------------------------------------------------------

class _Innermost(threading.local):
    scope: TraceScope | None = None


_innermost = _Innermost()


class TraceState:
    """`trace` is the trace that operations of this thread go to."""

    _bottom: Any = None

    def set_bottom(self, trace: Any, /) -> None:
        """Let operations of all threads go to `trace` where no scope is entered."""
        self._bottom = trace

    @property
    def trace(self) -> Any:
        scope = _innermost.scope
        return self._bottom if scope is None else scope._trace


class TraceScope:
    """Inside of a `with` block, this thread's operations go to `trace`.

    With `ended` the trace is dead after the block, and a block that raises nothing calls `ended(trace)`. The scopes of
    a thread are a stack: leaving one leaves all that were entered after it.
    """

    def __init__(self, trace: Any, ended: Callable[[Any], None] | None = None, /) -> None:
        self._trace, self._ended = trace, ended
        self._outer: TraceScope | None = None
        self._entered = False

    def __enter__(self) -> None:
        if self._entered:
            raise RuntimeError("a scope of a trace is entered twice")
        self._entered, self._outer, _innermost.scope = True, _innermost.scope, self

    def __exit__(self, *exception: object) -> None:
        scope = _innermost.scope
        while scope is not None and scope is not self:
            scope = scope._outer
        if scope is None:  # left already, or another thread's
            return
        while self._entered:
            _leave()
        if self._ended is not None and exception and exception[0] is None:
            self._ended(self._trace)


def _leave() -> None:
    left = _innermost.scope
    assert left is not None
    _innermost.scope, left._outer, left._entered = left._outer, None, False
    if left._ended is not None:
        left._trace.alive = False


# --- calls (csrc/callable.c, csrc/entry.c, csrc/eager.c) ---------------------------------------------------------

class FastEntry:
    """A compiled program as the hit path calls it: there is none."""

    def __init__(self, *fields: Any) -> None:
        self.fields = fields


class Guarded:
    """What answers calls as long as some containers hold what they held: nothing does."""

    def __init__(self, *fields: Any) -> None:
        self.fields = fields


class HitCounter:
    """How often one call was a hit, and the number of the last one among all calls."""

    hits = last = 0
    total = 0
    """How many calls all counters have counted."""

    def count(self) -> None:
        """Count one call."""
        HitCounter.total += 1
        self.hits, self.last = self.hits + 1, HitCounter.total

    def touch(self) -> None:
        """Note that the call was used now, without a hit."""
        HitCounter.total += 1
        self.last = HitCounter.total


class EagerEntry:
    """A call that NumPy answers: its function, and the types of scalars and results."""

    is_spent = False
    """There is nothing better."""

    def __init__(self, function: Callable[..., Any], scalar_types: tuple[Callable[[Any], Any] | None, ...],
                 loop: tuple[Any, ...] | None, out_avals: tuple[Any, ...],
                 unflatten: Callable[[list[Any]], Any] | None, calls: int = -1,
                 counter: HitCounter | None = None, /) -> None:
        self.function, self.scalar_types, self.out_avals, self.unflatten = function, scalar_types, out_avals, unflatten

    def __call__(self, leaves: tuple[Any, ...]) -> Any:
        """Return the results; NotImplemented where Python must look at the leaves first."""
        try:
            operands = [leaf._value if isinstance(leaf, ArrayBase) else convert(leaf)  # type: ignore[misc]
                        for leaf, convert in zip(leaves, self.scalar_types, strict=True)]
        except (TypeError, ValueError, OverflowError):
            return NotImplemented
        result = _hooks.quiet_context().run(self.function, *operands)
        if self.unflatten is None:
            return _wrapped(result, self.out_avals[0])
        return self.unflatten([_wrapped(x, aval) for x, aval in zip(result, self.out_avals, strict=True)])


class FastCallable:
    """A function whose calls go to `miss`, every one of them."""

    _miss: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._miss is None:
            raise TypeError(f"this {type(self).__name__} was made without a function to call")
        return self._miss(*args, **kwargs)

    def _configure(self, miss: Callable[..., Any], static_positions: tuple[int, ...],
                   static_names: tuple[str, ...] | None, /) -> None:
        self._miss = miss.__get__(self)

    def _stand_before(self, function: Callable[..., Any], hands_back: bool = False, /) -> None:
        self._miss = function

    def _know_by(self, other: FastCallable, /) -> None:
        """Know nothing."""

    def _learn(self, args: tuple[Any, ...], kwargs: dict[str, Any], entry: Any, epoch: int = 0, /) -> bool:
        """Learn nothing: the function's own cache, in Python, answers."""
        return False


def call_entry(entry: FastEntry | EagerEntry, /, *leaves: Any) -> Any:
    """Do what a known call does; NotImplemented where Python must look at the leaves first."""
    return entry(leaves) if isinstance(entry, EagerEntry) else NotImplemented


def has_own_loop(name: str, type: int, width: int, /) -> bool:
    """Is there an inner loop of ours for an operation, or a function of csrc/math?"""
    return False


def _wrapped(value: Any, aval: Any) -> Any:
    if type(value) is Buffer:
        return _hooks.array(aval, value)
    value = _hooks.asarray(value)
    value.flags.writeable = False
    return _hooks.array(aval, None, value)


# --- what the other layers bring ---------------------------------------------------------------------------------

class _Hooks:
    """Functions of upper layers, by the names under which they are set."""

    array: Callable[..., Any]
    read_only_view: Callable[..., Any]
    getitem: Callable[[Any, Any], Any]
    asarray: Callable[[Any], Any]
    quiet_context: Callable[[], Any]
    epoch = 0


_hooks = _Hooks()
_lock = threading.RLock()


def set_array_types(array: type, numpy: type, read_only_view: Callable[..., Any], /) -> None:
    """Say what results are made as, and how Python sees them."""
    _hooks.array, _hooks.read_only_view = array, read_only_view


def set_getitem(function: Callable[[Any, Any], Any], /) -> None:
    """Say what answers `x[index]`."""
    _hooks.getitem = function


def set_numpy(asarray: Callable[[Any], Any], quiet_context: Callable[[], Any], set_quicksorts: int, /) -> None:
    """Say what eager calls need of NumPy."""
    _hooks.asarray, _hooks.quiet_context = asarray, quiet_context


def set_pool(alloc: int, free: int, call: int, call_on_blocks: int, parallel_for: int, /) -> None:
    """Take the runtime's functions: there are none, NumPy allocates."""


def set_node_kinds(kinds: dict[type, Any], /) -> None:
    """Learn nothing: trees are taken apart in Python."""


def set_shared_memory(address: int, nbytes: int, /) -> None:
    """Note nothing: no call is learnt, so no array shares memory."""


def set_raise_status(function: Callable[[int], Any], /) -> None:
    """Take what is called when a program fails: none runs."""


def set_shorten(function: Callable[[Exception], None], /) -> None:
    """Take what shortens tracebacks of known calls: there are none."""


def set_paused(on: bool, /) -> None:
    """Make every call a miss: each is one."""


def set_context(context: object, /) -> None:
    """Take what stands for a thread's own settings: there are no keys that it would be in."""


def calls_counted() -> int:
    """Return how many calls all counters have counted."""
    return HitCounter.total


def forget() -> None:
    """Begin a new epoch; nothing was learnt."""
    _hooks.epoch += 1


def current_epoch() -> int:
    """Return the number of the epoch."""
    return _hooks.epoch


# --- libraries (csrc/private_files.c, csrc/libraries.c) -----------------------------------------------------------

def read_private(folders: tuple[bytes, ...], files: tuple[tuple[bytes, int], ...], owner: int,
                 other_owner: int, /) -> tuple[bytes, ...]:
    """Read no machine code: none can be called."""
    raise OSError(_NOTHING_IS_LOADED)


def load_copy(library: bytes, name: str, /) -> object:
    """Load no library: none can be called."""
    raise OSError(_NOTHING_IS_LOADED)


def load_file(path: bytes, /) -> object:
    """Load no library: none can be called."""
    raise OSError(_NOTHING_IS_LOADED)


def symbol_of(library: object, name: str, /) -> int:
    """Find no function: none was loaded."""
    raise OSError(_NOTHING_IS_LOADED)


def held_by(module: ModuleType, package: str, deep: bool, /) -> int:
    """Return what says that nothing is known of a module: nothing is looked up on disk."""
    return -1


_NOTHING_IS_LOADED = "tinytrace runs without its C extensions"
