"""`f.why(*args)`: would this call be answered from memory, and if not, why not, and what will it cost?

The answer is a value: `hit`, the `reason` in a word, the `diff` to the nearest key that was seen, where that was made,
and the `cost`. Its last two are found out when they are asked for: to know the cost of a miss the function is traced,
as `f.trace(*args)` would do, but nothing is remembered of it.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tinytrace import runtime
from tinytrace.api.cache_view import call_key
from tinytrace.api.call_keys import CallKey, described
from tinytrace.api.concrete import held, leaf_type
from tinytrace.api.first_calls import FirstCall, first_call
from tinytrace.api.jit_cache import CompiledCall, LookupKey, TracedFunction, TraceKey
from tinytrace.api.outside import Makeup, is_same, makeup_of, outside_of
from tinytrace.api.program import Program, known_program
from tinytrace.api.ready_loops import ready_loops
from tinytrace.api.static_state import changes, has_changed
from tinytrace.config import config
from tinytrace.core.avals import abstract_type_of
from tinytrace.core.key_diff import KeyDiff, KeyRow
from tinytrace.core.trace import is_eager
from tinytrace.core.trees import tree_flatten, tree_leaves
from tinytrace.core.views.tables import html_table
from tinytrace.runtime.failures import CompileError, NoCompiler
from tinytrace.util import cache_context, lazy


class Why:
    """Why a call would be a hit or a miss; prints in a few lines.

    Args:
      key: the call's.
      hit: would it be answered from memory?
      reason: `hit`, `new key`, `first call`, `new function object`, `cleared`, `evicted`, `static changed`, `no jit`.
      diff: from the nearest key that was seen to this one; empty for a hit.
      made_by: the user's line that first made the entry, or the nearest one.
      notes: what else should be known, such as a global that has changed since the trace.
    """

    def __init__(self, key: CallKey, reason: str, diff: KeyDiff, made_by: str, notes: Sequence[str],
                 cost: Callable[[], Cost]) -> None:
        self.key, self.reason, self.diff, self.made_by = key, reason, diff, made_by
        self.hit = reason == "hit"
        self.notes = tuple(notes)
        self._cost = cost

    @lazy
    def cost(self) -> Cost:
        """What the call will cost."""
        return self._cost()

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {"key": self.key.to_json(), "digest": self.key.digest, "hit": self.hit, "reason": self.reason,
                "diff": self.diff.to_json(), "made_by": self.made_by, "notes": list(self.notes),
                "cost": self.cost.to_json()}

    def __str__(self) -> str:
        lines = [f"{'hit' if self.hit else 'miss'}: {self.key}"]
        lines += [] if self.hit else [f"  because: {_REASONS[self.reason]}"]
        lines += [f"    {row}" for row in self.diff]
        lines += [f"  {'made' if self.hit else 'nearest made'} at {self.made_by}"] if self.made_by else []
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join([*lines, f"  cost: {self.cost}"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [("answer", "hit" if self.hit else "miss"), ("reason", _REASONS[self.reason]), ("key", str(self.key)),
                ("made at", self.made_by), *[("note", note) for note in self.notes], ("cost", str(self.cost))]
        return html_table(("", ""), rows) + (self.diff._repr_html_() if self.diff else "")


_REASONS = {
    "hit": "such a call was answered before",
    "new key": "no such call was made yet; what differs from the nearest one:",
    "first call": "the function was not called yet",
    "new function object": "this function object was not called yet, another one of the same code was:",
    "cleared": "the entry was forgotten by clear_cache() or clear_caches()",
    "evicted": "the entry had to make room for others: the table is bounded",
    "static changed": "a static argument has changed since it was used:",
    "no jit": "jit is switched off: nothing is traced, compiled or remembered",
}


class Cost:
    """What a call will cost.

    Args:
      traces: will the function be traced?
      source: where the machine code comes from: `compiler`, `disk`, `shared disk`, `memory`, `loops`, `interpreter`,
        `nothing`; empty for a hit.
      detail: what else is known.
      diff: where the code would be compiled, from the nearest entry on disk that was made of the same C.
    """

    def __init__(self, traces: bool, source: str, detail: str = "", diff: KeyDiff | None = None) -> None:
        self.traces, self.source, self.detail = traces, source, detail
        self.diff = diff or KeyDiff([])

    @property
    def compiles(self) -> bool:
        """Will a compiler run?"""
        return self.source == "compiler"

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {"traces": self.traces, "source": self.source, "detail": self.detail, "diff": self.diff.to_json()}

    def __str__(self) -> str:
        parts = ["retrace"] if self.traces else []
        parts += [_SOURCES[self.source]] if self.source else []
        text = (", then " if self.source == "compiler" else "; ").join(parts)
        lines = [(text or "nothing: it is answered from memory") + (f" ({self.detail})" if self.detail else "")]
        return "\n".join([*lines, *[f"    nearest on disk: {row}" for row in self.diff]])


_SOURCES = {
    "compiler": "compile",
    "disk": "a hit on disk: no compiler",
    "shared disk": "a hit in the shared store: no compiler",
    "memory": "no compiler: the same jaxpr or the same C has a program, found by content",
    "loops": "nothing to compile: loops that are there compute it",
    "interpreter": "no compiler here: it is interpreted",
    "nothing": "nothing to compile",
    "": "",
}


def why(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Why:
    """Return why a call of a jitted function would be a hit or a miss."""
    key = jitted.lookup_key(args, kwargs)
    if config.disable_jit:
        return Why(call_key(jitted, key), "no jit", KeyDiff([]), "", (), lambda: Cost(False, "", "Python runs it"))
    if not is_eager():
        return _in_trace(jitted, key, _trace_key(jitted, args, kwargs))
    return explain(jitted, key, functools.partial(_cost, jitted, args, kwargs, key))


def explain(jitted: Any, key: LookupKey, cost: Callable[[], Cost]) -> Why:
    """Return why a call with a look-up key would be a hit or a miss."""
    described_key, cache = call_key(jitted, key), jitted._cache
    call = cache.calls.peek(key)
    if call is not None:
        traced = call.record.traced
        line = str(call.record.made_by or "")
        if has_changed(traced.states, key.statics):
            return Why(described_key, "static changed", _changed(described_key, key, traced), line, (), cost)
        return Why(described_key, "hit", KeyDiff([]), line, _notes(jitted, key, call), lambda: Cost(False, ""))
    lost = cache.lost.get(hash(key), "")
    others = [(call_key(jitted, known), call) for known, call in cache.calls.items()]
    if lost:
        return Why(described_key, lost.partition(":")[0], KeyDiff([]), "", (), cost)
    if others:
        diff, nearest = _nearest(described_key, others)
        return Why(described_key, "new key", diff, str(nearest.record.made_by or ""), (), cost)
    return _first(jitted, described_key, cost)


def _in_trace(jitted: Any, key: LookupKey, trace_key: TraceKey) -> Why:
    """Explain a call inside a trace: nothing is compiled for it, but its function may have to be traced."""
    traced = jitted._cache.traces.peek(trace_key)
    if traced is not None and not has_changed(traced.states, key.statics):
        return Why(call_key(jitted, key), "hit", KeyDiff([]), "", (), lambda: Cost(False, ""))
    return explain_trace(jitted, trace_key)


def explain_trace(jitted: Any, trace_key: TraceKey) -> Why:
    """Return why a function has just been traced; the key is not in its table yet."""
    key, cache = _as_lookup(trace_key), jitted._cache
    described_key = call_key(jitted, key)
    others = [(call_key(jitted, _as_lookup(known)), traced) for known, traced in cache.traces.items()]
    if not others:
        return _first(jitted, described_key, _unknown_cost)
    diff = min((other.diff(described_key) for other, _ in others), key=len)
    if diff:
        return Why(described_key, "new key", diff, "", (), _unknown_cost)
    traced = next(traced for other, traced in others if other == described_key)
    return Why(described_key, "static changed", _changed(described_key, key, traced), "", (), _unknown_cost)


def _as_lookup(key: TraceKey) -> LookupKey:
    return LookupKey(key.tree, key.avals, key.statics, key.context[0])


def _unknown_cost() -> Cost:
    return Cost(True, "")


def _nearest(key: CallKey, others: Sequence[tuple[CallKey, CompiledCall]]) -> tuple[KeyDiff, CompiledCall]:
    """Return the smallest difference from a key that was seen, the newest of those that are as near."""
    diffs = [(other.diff(key), call) for other, call in others]
    return min(diffs, key=lambda pair: (len(pair[0]), -pair[1].record.number))


def _changed(described_key: CallKey, key: LookupKey, traced: TracedFunction) -> KeyDiff:
    names = {place: static.path for (place, _), static in zip(key.statics, described_key.statics, strict=True)}
    return KeyDiff([KeyRow(f"{names[place]}{attribute}", old, new, "a static value should not change")
                    for place, attribute, old, new in changes(traced.states, key.statics)])


# --- functions of the same code -----------------------------------------------------------------------------------

def _first(jitted: Any, key: CallKey, cost: Callable[[], Cost]) -> Why:
    """Explain the first call of a function object: of its code other objects may have been called."""
    seen = first_call(jitted._fun)
    if seen is None:
        return Why(key, "first call", KeyDiff([]), "", (), cost)
    rows = [*_makeups(seen.makeup, makeup_of(jitted._fun)), *_key_as_of(jitted, seen).diff(key)]
    is_same_object = seen.fun() is jitted._fun
    if not is_same_object:
        name = getattr(jitted._fun, "__qualname__", jitted._name)
        rows = [KeyRow("function object", f"{name} (1)", f"{name} (2)", _MAKEUP_HINTS["function"]), *rows]
    reason = "new key" if is_same_object else "new function object"
    return Why(key, reason, KeyDiff(rows), str(seen.made_by or ""), (), cost)


def _key_as_of(jitted: Any, seen: FirstCall) -> CallKey:
    """Return the key in texts; its parameters are called as those of `jitted`, which has the same code."""
    if isinstance(seen.key, CallKey):
        return seen.key
    return described(seen.key, jitted._fun, seen.options, jitted._signature, jitted._cache.texts)


def _makeups(seen: Makeup, now: Makeup) -> Iterator[KeyRow]:
    """Rows that tell two function objects of one code apart."""
    for part in dict.fromkeys([*seen, *now]):
        (mine, one), (other, two) = seen.get(part, (None, None)), now.get(part, (None, None))
        if one != two:
            mine, other = (f"{mine} (1)", f"{other} (2)") if mine == other else (mine, other)
            yield KeyRow(part, mine, other, _MAKEUP_HINTS.get(part.partition(" ")[0], ""))


_MAKEUP_HINTS = {
    "function": "each time `def`, `lambda` or `partial` runs it makes a new function; make it once, outside of loops",
    "partial": "pass it as an argument, and it may change",
    "closure": "pass it as an argument, and it may change",
    "default": "pass it as an argument, and it may change",
    "self": "a method of another object is another function",
}


def _print(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # a user's __repr__
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


# --- hits -----------------------------------------------------------------------------------------------------------

def _notes(jitted: Any, key: LookupKey, call: CompiledCall) -> list[str]:
    """What a hit does not see, and what it would have cost elsewhere."""
    now = dict(outside_of(jitted._fun))
    notes = [f"`{name}` was {_print(value)} when the function was traced and is {_print(now[name])} now; "
             "this call uses the old value: pass it as an argument"
             for name, value in call.record.traced.outside if name in now and not is_same(value, now[name])]
    executable = call.program.__dict__.get("executable")
    compiler = runtime.discovery.known_compiler()
    if executable is not None and compiler is not None:
        wanted = runtime.ladder.artifact_key(call.program.lowering, compiler)
        notes += [f"it runs what was compiled with another {row.path}: {row}" for row in executable.key.diff(wanted)]
    return notes


# --- what it will cost ------------------------------------------------------------------------------------------------

def _cost(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any], key: LookupKey) -> Cost:
    trace_key = _trace_key(jitted, args, kwargs)
    traced = jitted._cache.traces.peek(trace_key)
    is_traced = traced is not None and not has_changed(traced.states, key.statics)
    if traced is None or not is_traced:
        try:
            traced = jitted._trace(args, kwargs, key.tree, trace_key.avals, key.statics)
        except Exception as error:  # whatever the user's function raises for such arguments
            return Cost(True, "", f"tracing raises {type(error).__name__}: {str(error).partition(chr(10))[0]}")
    if traced.consts:
        return Cost(not is_traced, "", "it closes over values that are being traced")
    first, donation = len(traced.closed.consts), jitted._donation(traced, args, kwargs)
    donated = frozenset(first + i for i in donation.given)
    program = jitted._cache.programs.get(traced.closed) or known_program(traced.closed.jaxpr, donated)
    if not donated and _is_for_loops(traced, program, tree_leaves(jitted._split(args, kwargs)[0])):
        return Cost(not is_traced, "loops")
    if program is not None and "executable" in program.__dict__:
        return Cost(not is_traced, "nothing" if program.origin == "nothing" else "memory")
    program = program or Program(traced.closed, donated=frozenset(donation.given))
    if not program.kernel_jaxpr.jaxpr.eqns:
        return Cost(not is_traced, "nothing")
    try:
        origin, diff = runtime.inventory.origin_of(program.source)
    except (CompileError, NoCompiler) as error:
        return Cost(not is_traced, "interpreter", str(error).splitlines()[0])
    return Cost(not is_traced, origin, "", diff)


def _is_for_loops(traced: TracedFunction, program: Program | None, leaves: list[Any]) -> bool:
    """Will nobody compile such calls, for loops that are there compute the same? See `ready_loops`."""
    if traced.out_tree.num_leaves != 1 or traced.out_tree.num_nodes != 1:
        return False
    program, consts = (program, traced.closed.consts) if program is not None else (Program(traced.closed), [])
    held_consts = [held(x, aval) for x, aval in zip(consts, program.in_avals, strict=False)]
    return ready_loops(program, held_consts, tuple(map(leaf_type, leaves))) is not None


def _trace_key(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TraceKey:
    dynamic, statics = jitted._split(args, kwargs)
    leaves, tree = tree_flatten(dynamic)
    return TraceKey(tree, tuple(map(abstract_type_of, leaves)), statics, cache_context())
