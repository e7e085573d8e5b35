"""What `jit` remembers: three tables for each function with its options, shared by every `jit` of the two.

    calls     LookupKey -> the compiled program and how to call it; its length is `_cache_size()`
    traces    TraceKey -> the jaxpr; a NumPy array and an Array of one type are two calls but one trace; options other
              than static arguments, and `make_jaxpr`, share them too
    programs  the jaxpr -> the program; behind it `shared_program` finds that of an equal jaxpr, so that a fresh lambda
              costs its tracing, and `runtime` finds executables by their C text
"""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from tinytrace import events, runtime
from tinytrace._dispatch import FastEntry, HitCounter, call_entry, forget
from tinytrace.api.concrete import as_array, held, leaf_type
from tinytrace.api.donation import NO_DONATION, Donation
from tinytrace.api.equal_programs import forget_program, forget_programs
from tinytrace.api.flattening import maker_of
from tinytrace.api.program import Program
from tinytrace.api.ready_loops import ready_loops
from tinytrace.api.signatures import Statics
from tinytrace.api.static_state import States
from tinytrace.api.tables import RecentTable
from tinytrace.control_flow.bodies import forget_bodies
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray, refuse_masked
from tinytrace.core.dtypes import canonicalized
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.own_primitive import when_rules_change
from tinytrace.core.source_info import SourceInfo
from tinytrace.core.trace import Tracer, leaked_tracer_error
from tinytrace.core.trees import PyTreeDef
from tinytrace.records import NamedTuple

MAX_ENTRIES = 4096
"""How many calls, traces and programs of one function are remembered; what was not used for longest goes first."""


class JitOptions(NamedTuple):
    """What was asked of `jit`; part of what makes two jitted functions share their caches."""

    statics: Statics
    donated: Statics
    keep_unused: bool
    inline: bool
    background: bool


class LookupKey(NamedTuple):
    """What decides which compiled program answers a call, as objects; `call_keys.CallKey` says it in texts."""

    tree: PyTreeDef
    leaves: tuple[Any, ...]
    """Per dynamic leaf: the aval of an Array, `(shape, dtype)` of a NumPy array, the type of a Python scalar."""
    statics: tuple[Any, ...]
    context: tuple[Any, ...]
    """The settings that change what is traced (`config.TRACE_FIELDS`)."""


class TraceKey(NamedTuple):
    """What decides which jaxpr a call has."""

    tree: PyTreeDef
    avals: tuple[ShapedArray, ...]
    statics: tuple[Any, ...]
    context: tuple[Any, ...]


class TracedFunction(NamedTuple):
    """A function traced at one TraceKey."""

    closed: ClosedJaxpr
    out_tree: PyTreeDef
    consts: tuple[Any, ...] = ()
    """Tracers of enclosing functions that this one closes over; they lead the inputs of `closed`."""
    seconds: float = 0.0
    """How long tracing took, what was traced inside included."""
    states: States = None
    """Of static values that can change: what they were after the trace."""
    outside: tuple[tuple[str, Any], ...] = ()
    """Numbers and texts that the function could read outside of itself when it was traced; see `why`."""


class CallRecord(NamedTuple):
    """How an entry of the call table came to be."""

    number: int
    """Among all entries that the function's tables ever had."""
    made_by: SourceInfo | None
    """The user's line that made the first such call."""
    trace_seconds: float
    """0 where an earlier trace was used again."""
    has_own_program: bool
    """No equal jaxpr had a program already."""
    traced: TracedFunction
    donation: Donation = NO_DONATION
    """Which arguments it deletes."""


class CompiledCall:
    """One entry of the call table: runs the program on flat arguments and rebuilds the result's tree."""

    __slots__ = ("avals", "consts", "counter", "leaf_types", "loop", "out_tree", "program", "record", "single")

    def __init__(self, program: Program, record: CallRecord, leaves: Sequence[Any]) -> None:
        consts, out_tree = record.traced.closed.consts, record.traced.out_tree
        self.program = program
        self.record = record
        self.counter = HitCounter()
        self.counter.touch()
        self.consts = [held(x, aval) for x, aval in zip(consts, program.in_avals, strict=False)]
        self.avals = program.in_avals[len(consts):]
        self.out_tree = out_tree
        self.single = out_tree.num_leaves == 1 and out_tree.num_nodes == 1
        self.leaf_types = tuple(map(leaf_type, leaves))
        self.loop = ready_loops(program, self.consts, self.leaf_types) if self.single else None
        if self.loop is not None:
            events.tell("load", "loops")

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Call with flat leaves, which may be NumPy arrays or Python scalars too."""
        if self.record.donation.given:
            return self._donating(leaves)
        return self._run(leaves)

    def _donating(self, leaves: Sequence[Any]) -> Any:
        """Call, and let results take the places of donated arguments; see `FastEntry`, which does it."""
        donation = self.record.donation
        donation.check(leaves)
        entry = self.fast_entry(range(len(leaves)))
        result = NotImplemented if entry is None else call_entry(entry, *leaves)
        if result is NotImplemented:  # no compiler, or arguments that are to be converted
            donation.check(leaves)
            result = self._run(leaves)
            donation.delete(leaves)
        return result

    def _run(self, leaves: Sequence[Any]) -> Any:
        if self.loop is not None and (result := call_entry(self.loop, *leaves)) is not NotImplemented:
            return result
        arrays = [as_array(x, aval) for x, aval in zip(leaves, self.avals, strict=True)]
        results = self.program.call_separately([*self.consts, *arrays])
        return results[0] if self.single else self.out_tree.unflatten(results)

    def fast_entry(self, leaf_order: Sequence[int]) -> FastEntry | None:
        """Return the form of this call that the hit path takes, if it can; see `Program.fast_entry`."""
        given = [len(self.consts) + i for i in self.record.donation.given]
        return self.program.fast_entry(self.consts, leaf_order, maker_of(self.out_tree), self.counter, given)


class JitCache:
    """The tables of one function with one set of options."""

    def __init__(self, traces: RecentTable[TraceKey, TracedFunction] | None = None) -> None:
        self.traces = RecentTable[TraceKey, TracedFunction](MAX_ENTRIES) if traces is None else traces
        """Those of the function with its static arguments; other options leave a trace as it is."""
        self.programs: RecentTable[ClosedJaxpr, Program] = RecentTable(MAX_ENTRIES)
        self.traced = self.missed = 0
        """How often the function was traced, and how many calls had to be compiled."""
        self.texts: dict[Any, str] = {}
        """What `call_keys` calls static values."""
        self.lost: dict[int, str] = {}
        """Why entries are not here any more, by the hash of their keys."""
        self.calls = self.table_of_calls(MAX_ENTRIES)

    def table_of_calls(self, bound: int) -> RecentTable[LookupKey, CompiledCall]:
        """Return an empty table of calls; those that the hit path answers are used behind its back."""
        # `lost` and not `self`: a table that held its owner would be a cycle, and keep what traces hold.
        return RecentTable(bound, functools.partial(_note_evicted, self.lost), _last_use)

    def clear(self) -> None:
        """Forget everything, and the programs that equal functions would share."""
        for key, _ in self.calls.items():
            _note_lost(self.lost, key, "cleared: clear_cache() or clear_caches() was called")
        self.texts.clear()
        for program in self.programs.values():
            forget_program(program)
        self.calls.clear()
        self.traces.clear()
        self.programs.clear()


def _last_use(call: CompiledCall) -> int:
    return call.counter.last


def _note_evicted(lost: dict[int, str], keys: list[LookupKey]) -> None:
    for key in keys:
        _note_lost(lost, key, "evicted: there were too many kinds of calls, and this one was made longest ago")
    forget()  # the hit path knows them still


def _note_lost(lost: dict[int, str], key: LookupKey, reason: str) -> None:
    if len(lost) >= MAX_ENTRIES:
        lost.clear()
    lost[hash(key)] = reason


# What a trace holds lives as long as its function. A trace that holds the function itself, as one does whose callback
# calls it, is given up by clear_caches() only; it is so in JAX.
_caches: weakref.WeakKeyDictionary[Callable[..., Any], dict[JitOptions, JitCache]] = weakref.WeakKeyDictionary()


def shared_cache(fun: Callable[..., Any], options: JitOptions) -> JitCache:
    """Return the tables of a function with its options."""
    try:
        caches = _caches.setdefault(fun, {})
        if options not in caches:
            alike = [cache.traces for other, cache in list(caches.items()) if other.statics == options.statics]
            return caches.setdefault(options, JitCache(*alike[:1]))
        return caches[options]
    except TypeError:  # not hashable or not weakly referable: a cache of its own
        return JitCache()


def all_caches() -> list[tuple[Callable[..., Any], JitOptions, JitCache]]:
    """Return every function that is alive and was jitted, with its options and tables."""
    return [(fun, options, cache) for fun, caches in list(_caches.items()) for options, cache in list(caches.items())]


seen_codes: RecentTable[CodeType, Any] = RecentTable(1024)
"""What code was called with when one of its function objects was first called (`first_calls`)."""


def clear_caches() -> None:
    """Forget every trace and every compiled call of every function (`jax.clear_caches`)."""
    for caches in list(_caches.values()):
        for cache in caches.values():
            cache.clear()
    forget_bodies()
    seen_codes.clear()
    forget_programs()
    runtime.ladder.clear_memory()
    forget()


when_rules_change(clear_caches)


class StaticValue:
    """A static value as a cache key: equal only if the types are equal too, and nan never."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            self._hash = hash(value)
        except TypeError as error:
            raise ValueError(
                "Non-hashable static arguments are not supported. An error occurred while trying to hash an object "
                f"of type {type(value)}, {value}. The error was:\nTypeError: {error}\n") from error

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StaticValue) or type(self.value) is not type(other.value):
            return False
        try:
            return bool(self.value == other.value)
        except Exception as error:
            kind = type(self.value)
            raise ValueError(
                "static arguments should be comparable using __eq__.The following error was raised when comparing two "
                f"objects of types {kind} and {kind}. The error was:\n{type(error).__name__}: {error}") from error


def leaf_key(leaf: Any) -> Any:
    """Return what a CallKey keeps of a leaf."""
    kind = type(leaf)
    if kind is Array:
        return leaf.aval
    if isinstance(leaf, (np.ndarray, np.generic)):
        refuse_masked(leaf)
        return leaf.shape, canonicalized(leaf.dtype)  # float64 is float32 where 64 bits are off: one entry
    if isinstance(leaf, Tracer):
        raise leaked_tracer_error(leaf)
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype") and not hasattr(leaf, "__jax_array__"):
        # It has a type, which is enough to trace, and no value.
        raise TypeError(f"Argument '{leaf}' of type {kind} is not a valid JAX type.")
    return kind
