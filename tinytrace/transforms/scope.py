"""The life of a trace: current while its function runs, dead afterwards, and checked for leaks when asked to."""
from __future__ import annotations

import contextlib
import gc
from typing import Any

from tinytrace.config import config
from tinytrace.core.trace import Trace, Tracer, TraceScope


def running(trace: Trace) -> contextlib.AbstractContextManager[None]:
    """Send the operations inside the block to `trace`, and end it with the block.

    Under `check_tracer_leaks` the block must leave no tracer of `trace` behind, in its own variables neither.

    Raises: Exception, as JAX does, naming the tracers that survived and who holds them.
    """
    return TraceScope(trace, _ended)


def _ended(trace: Trace) -> None:
    if config.check_tracer_leaks:
        trace.memo.clear()  # what was remembered for as long as the trace lasted
        gc.collect()  # functions that close over tracers refer to themselves
        check_leaks(trace)


def check_leaks(trace: Trace) -> None:
    """Raise an Exception if somebody still holds a tracer of `trace`."""
    leaked = [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]
    if leaked:
        raise leak_error(f"trace MainTrace({trace.level},{trace.name})", leaked)


def leak_error(what: str, leaked: list[Tracer]) -> Exception:
    """Return the error for tracers that somebody holds."""
    texts = "\n\n".join([f"{tracer}{tracer._origin_msg()}{_holders(tracer, leaked)}" for tracer in leaked])
    return Exception(f"Leaked {what}. Leaked tracer(s):\n\n{texts}\n")


def _holders(tracer: Tracer, ours: list[Tracer]) -> str:
    """Say who refers to `tracer`: the containers and objects that the user should look for."""
    named = f"<{type(tracer).__name__} {id(tracer)}>"
    holders = [x for x in gc.get_referrers(tracer) if x is not ours and type(x).__name__ != "frame"]
    return "".join([f"\n{named} is referred to by {_describe(holder, tracer)}" for holder in holders])


def _describe(holder: Any, tracer: Tracer) -> str:
    named = f"<{type(holder).__name__} {id(holder)}>"
    if isinstance(holder, (list, tuple)):
        return f"{named}[{[x is tracer for x in holder].index(True)}]"
    if isinstance(holder, dict):
        key = [key for key, x in holder.items() if x is tracer][0]  # noqa: RUF015 (a generator would refer to it too)
        return f"{holder['__name__']}.{key}" if "__name__" in holder else f"{named}[{key!r}]"
    return named
