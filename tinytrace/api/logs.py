"""What is logged, in the words of JAX 0.4.35: why a function is traced again, and what is traced and compiled.

`jax_explain_cache_misses` and `jax_log_compiles` switch it on; it goes to the logger `tinytrace`, as warnings.
`TINYTRACE_LOG=trace,cache,compile,passes` logs what happens in one line each: functions traced, calls that were not
known and why, programs loaded and where from, jaxprs before and after simplification.

Source: `explain_tracing_cache_miss` in jax/_src/pjit.py, `log_elapsed_time` in jax/_src/dispatch.py.
"""
from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace import events
from tinytrace.api.call_keys import described
from tinytrace.api.jit_cache import CompiledCall, LookupKey, TracedFunction, TraceKey
from tinytrace.api.outside import inner_function
from tinytrace.api.signatures import function_location
from tinytrace.api.why import Cost, explain
from tinytrace.config import config
from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import Var
from tinytrace.core.key_paths import keystr
from tinytrace.core.tree_paths import equality_errors_pytreedef
from tinytrace.core.trees import PyTreeDef
from tinytrace.transforms.staging import user_source

logger = logging.getLogger("tinytrace")


# --- jax_log_compiles -------------------------------------------------------------------------------------------------

def log_trace(jitted: Any, traced: TracedFunction) -> None:
    """Say that a function was traced."""
    logger.warning("Finished tracing + transforming %s for pjit in %.9f sec", jitted._name, traced.seconds)


def log_compile(jitted: Any, call: CompiledCall) -> None:
    """Say that a call is compiled, compile it, and say how long that took."""
    program = call.program
    closed = call.record.traced.closed
    read: set[Any] = {v for v in program.jaxpr.jaxpr.outvars if isinstance(v, Var)}
    read.update(v for eqn in program.jaxpr.jaxpr.eqns for v in eqn.invars if isinstance(v, Var))
    inputs = program.jaxpr.jaxpr.invars[len(closed.consts):]
    avals = [v.aval for v in inputs if v in read]
    mapping = ", ".join(["UnspecifiedValue"] * len(avals)) + ("," if len(avals) == 1 else "")
    logger.warning("Compiling %s with global shapes and types %s. Argument mapping: (%s).", jitted._name, avals,
                   mapping)
    program.executable  # noqa: B018  (it is compiled now)
    seconds = program.seconds
    emitted = sum(seconds.get(stage, 0.0) for stage in ("simplify", "plan", "emit"))
    logger.warning("Finished jaxpr to MLIR module conversion jit(%s) in %.9f sec", jitted._name, emitted)
    compiled = seconds.get("compile", 0.0) + seconds.get("load", 0.0)
    logger.warning("Finished XLA compilation of jit(%s) in %.9f sec", jitted._name, compiled)


# --- jax_explain_cache_misses -----------------------------------------------------------------------------------------

_callsites: set[str] = set()
"""Lines in which functions were met that were never seen before."""


def explain_trace(jitted: Any, key: TraceKey) -> None:
    """Say why a function has just been traced; the key is not in its table yet."""
    if config.check_tracer_leaks or jitted._options.inline:
        return
    logger.warning("\n".join(_explanation(jitted, key)))


def _explanation(jitted: Any, key: TraceKey) -> list[str]:
    callsite = str(user_source())
    inner = inner_function(jitted._fun)
    where = function_location(jitted._fun).partition(" at ")[2]
    name, place = getattr(inner, "__qualname__", jitted._name), f" defined at {where}" if where else ""
    lines = [f"TRACING CACHE MISS at {callsite} because:"]
    seen = [known for known, _ in jitted._cache.traces.items()]
    if not seen:
        lines.append(f"  never seen function:\n    {name} id={id(jitted._fun)}{place}")
        if callsite in _callsites:
            lines.append("  but seen another function defined on the same line; maybe the function is\n"
                         "  being re-defined repeatedly, preventing caching?")
        _callsites.add(callsite)
        return lines
    lines.append(f"  for {name}{place}")
    return lines + _what_is_new(jitted, key, seen)


def _what_is_new(jitted: Any, key: TraceKey, seen: Sequence[TraceKey]) -> list[str]:
    """Say what differs, the first of: arguments by position and by keyword, settings, structure, types, statics."""
    args_kwargs = [known.tree.children() for known in seen]
    if key.tree.children() not in args_kwargs:
        return _passing(key.tree, args_kwargs)
    if all(known.context != key.context for known in seen):
        return _contexts(key.context, [known.context for known in seen])
    trees = [known for known in seen if known.tree == key.tree]
    if not trees:
        return _trees(key.tree, [known.tree for known in seen])
    if all(known.avals != key.avals for known in trees):
        return _types(_names(jitted, key), key.avals, [known.avals for known in trees])
    return _statics(jitted, key, trees)


def _passing(tree: PyTreeDef, seen: list[list[PyTreeDef]]) -> list[str]:
    args, kwargs = tree.children()
    keywords = _keywords(kwargs)
    lines = [f"  never seen passing {len(args.children())} positional args and {len(keywords)} keyword args with "
             f"keys:\n    {', '.join(map(repr, keywords))}"]
    closest = min([set(_keywords(known[1])) for known in seen], key=set(keywords).symmetric_difference, default=None)
    if not closest:
        return [*lines, "  closest seen is passing no keyword args"]
    return [*lines,
            f"  closest seen passes {len(closest)} keyword args with keys:\n    {', '.join(map(repr, closest))}"]


def _keywords(kwargs: PyTreeDef) -> list[Any]:
    data = kwargs.node_data()
    return list(data[1]) if data else []


def _contexts(context: tuple[Any, ...], seen: list[tuple[Any, ...]]) -> list[str]:
    flat = _flat(context)
    closest = min(map(_flat, seen), key=lambda other: sum(map(operator.ne, other, flat)))
    places = [i for i, (mine, other) in enumerate(zip(flat, closest, strict=True)) if mine != other]
    return ["  tracing context doesn't match, e.g. due to config or context manager",
            "  closest seen context tuple differs at positions:\n"
            f"    {', '.join(map(str, places))}\n"
            "  compare to tuple returned by config.trace_context() in tinytrace/config.py."]


def _flat(context: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*context[0], *context[1:])


def _trees(tree: PyTreeDef, seen: list[PyTreeDef]) -> list[str]:
    text = f":\n    {tree}" if len(str(tree)) < 76 else ""
    closest = min(seen, key=lambda other: abs(other.num_leaves - tree.num_leaves))
    errors = list(equality_errors_pytreedef(tree, closest))
    lines = [f"  never seen input pytree{text}",
             f"  closest seen input pytree has {len(errors)} mismatches, including:"]
    for path, mine, other, explanation in errors:
        base = ("args", "kwargs")[path[0].idx]
        lines.append(f"    * at {base}{keystr(tuple(path[1:]))}, seen {other} but now given {mine},"
                     f"      so {explanation}")
    return lines


def _types(names: Sequence[str], avals: Sequence[ShapedArray], seen: list[tuple[ShapedArray, ...]]) -> list[str]:
    text = ""
    if len(avals) < 5:
        text = ":\n    " + ",  ".join(f"{name}: {aval.str_short()}" for name, aval in zip(names, avals, strict=False))
    closest = min(seen, key=lambda other: sum(map(operator.ne, other, avals)))
    lines = [f"  never seen input type signature{text}",
             f"  closest seen input type signature has {sum(map(operator.ne, closest, avals))} mismatches, including:"]
    is_weak = False
    for name, other, mine in zip(names, closest, avals, strict=False):
        if mine != other:
            seen_text, now_text = other.str_short(), mine.str_short()
            if seen_text == now_text:
                seen_text += f"{{weak_type={other.weak_type}}}"
                now_text += f"{{weak_type={mine.weak_type}}}"
                is_weak = True
            lines.append(f"    * at {name}, seen {seen_text}, but now given {now_text}")
    if is_weak:
        lines += ["where weak_type=True often means a Python builtin numeric value, and ",
                  "weak_type=False means a jax.Array.",
                  "See https://jax.readthedocs.io/en/latest/type_promotion.html#weak-types"]
    return lines


def _statics(jitted: Any, key: TraceKey, seen: Sequence[TraceKey]) -> list[str]:
    """Say which static argument is new; JAX says that it has no explanation."""
    keys = [described(LookupKey(known.tree, known.avals, known.statics, known.context[0]), jitted._fun, jitted._options,
                      jitted._signature, jitted._cache.texts) for known in (key, *seen)]
    diff = min([other.diff(keys[0]) for other in keys[1:]], key=len)
    if not diff:
        return ["  a static argument has changed since it was used"]
    return ["  never seen static arguments", f"  closest seen have {len(diff)} mismatches, including:",
            *[f"    * at {row.path}, seen {row.mine}, but now given {row.other}" for row in diff]]


def _names(jitted: Any, key: TraceKey) -> Sequence[str]:
    described_key = described(LookupKey(key.tree, key.avals, key.statics, key.context[0]), jitted._fun, jitted._options,
                              jitted._signature, jitted._cache.texts)
    return [leaf.path for leaf in described_key.leaves]


# --- TINYTRACE_LOG ----------------------------------------------------------------------------------------------------

TOPICS: dict[str, str] = {"trace": "trace", "cache": "miss", "compile": "load", "passes": "pass"}
"""What is asked for in TINYTRACE_LOG, and the events that it is."""


def log_events() -> Callable[[events.Event], None] | None:
    """Return the listener that TINYTRACE_LOG asks for; ValueError if it names what is no topic."""
    wanted = [topic.strip() for topic in config.log.split(",") if topic.strip()]
    if unknown := [topic for topic in wanted if topic not in TOPICS]:
        raise ValueError(f"TINYTRACE_LOG={config.log}: there is no topic {unknown[0]!r}, there are {', '.join(TOPICS)}")
    kinds = {TOPICS[topic] for topic in wanted}
    return listener_for(kinds) if kinds else None


def listener_for(kinds: set[str]) -> Callable[[events.Event], None]:
    """Return a listener that logs events of some kinds, each in one line."""
    def log(event: events.Event) -> None:
        if event.kind not in kinds:
            return
        text = f"{event.kind} {event.name}"
        if event.kind == "miss":
            jitted, key = event.subject
            why = explain(jitted, key, lambda: Cost(False, ""))
            rows = "; ".join(map(str, why.diff))
            text += f": {why.reason}{f': {rows}' if rows else ''}"
        elif event.subject is not None and event.kind != "trace":
            text += f": {event.subject}"
        logger.warning("%s in %.3f ms", text, 1e3 * event.seconds)

    return log


_log = log_events()
if _log is not None:
    events.listeners.append(_log)
