"""What runs while somebody profiles: spans of calls, of their kernels, of tracing and compiling, in all threads.

A jitted function is run in the form that looks at the clock between its kernels (`timed_program`), once for each call:
what is measured is the call itself.
"""
from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from tinytrace import events
from tinytrace.api.concrete import as_array
from tinytrace.api.jit import JitFunction
from tinytrace.api.jit_cache import CompiledCall
from tinytrace.api.program import Program
from tinytrace.config import let_python_see_calls
from tinytrace.core.array import Array
from tinytrace.inspection.timed_program import TimedProgram
from tinytrace.records import NamedTuple


class Span(NamedTuple):
    """One thing that took its time: nanoseconds of the monotonic clock."""

    kind: str
    name: str
    begun: float
    ended: float
    thread: int
    details: Mapping[str, Any]


class Session:
    """A recording: `begin`, `end`, then `chrome_trace`."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.threads: dict[int, str] = {}
        self.begun = time.monotonic_ns()
        self._timed: weakref.WeakKeyDictionary[Program, TimedProgram] = weakref.WeakKeyDictionary()

    def begin(self) -> None:
        """Watch the calls of all threads from now on."""
        events.listeners.append(self._hear)
        JitFunction.observer = self._call
        let_python_see_calls(True)

    def end(self) -> None:
        """Watch no more."""
        let_python_see_calls(False)
        JitFunction.observer = None
        events.listeners.remove(self._hear)
        self._timed.clear()

    def add(self, kind: str, name: str, begun: float, ended: float, details: Mapping[str, Any]) -> None:
        """Note a span of this thread."""
        thread = threading.get_native_id()
        self.threads[thread] = threading.current_thread().name
        self.spans.append(Span(kind, name, begun, ended, thread, dict(details)))

    def _hear(self, event: events.Event) -> None:
        if event.kind in ("trace", "load"):
            now = time.monotonic_ns()
            self.add(event.kind, f"{event.kind} {event.name}", now - 1e9 * event.seconds, now, {})

    # --- calls -------------------------------------------------------------------------------------------------

    def _call(self, name: str, call: CompiledCall, leaves: Sequence[Any]) -> Any:
        """Answer a call of a jitted function, and note it and its kernels."""
        donation = call.record.donation
        donation.check(leaves)
        arrays = [as_array(x, aval) for x, aval in zip(leaves, call.avals, strict=True)]
        program = call.program
        timed = self._timed_form(program)
        begun = time.monotonic_ns()

        def run(args: Sequence[Array]) -> list[Array]:
            if timed is None:
                return program.run(args)
            results, instants = timed.run_on(args)
            for k, kernel in enumerate(timed.kernels):
                self.add("kernel", f"{k} {kernel.title()}", instants[k], instants[k + 1], {
                    "equations": list(map(str, kernel.equations)), "flop": kernel.flops,
                    "bytes": kernel.bytes_read + kernel.bytes_written})
            return results

        results = program.call_separately([*call.consts, *arrays], run)
        self.add("call", name, begun, time.monotonic_ns(), {} if timed else {"interpreted": True})
        donation.delete(leaves)
        return results[0] if call.single else call.out_tree.unflatten(results)

    def _timed_form(self, program: Program) -> TimedProgram | None:
        """Return the program with a clock; None where there are no kernels, or no compiler."""
        if not program.kernel_jaxpr.jaxpr.eqns or program.executable is None:
            return None
        timed = self._timed.get(program)
        return timed or self._timed.setdefault(program, TimedProgram(program))

    # --- the recording -----------------------------------------------------------------------------------------

    def chrome_trace(self) -> dict[str, Any]:
        """Return the spans for chrome://tracing and Perfetto.

        Source: "Trace Event Format", https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
        """
        pid = os.getpid()
        names = [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": "tinytrace on the CPU"}}]
        threads = [{"name": "thread_name", "ph": "M", "pid": pid, "tid": thread, "args": {"name": name}}
                   for thread, name in self.threads.items()]
        spans = [{"name": span.name, "cat": span.kind, "ph": "X", "pid": pid, "tid": span.thread,
                  "ts": (span.begun - self.begun) / 1e3, "dur": (span.ended - span.begun) / 1e3,
                  "args": {key: value if isinstance(value, (int, float, list)) else str(value)
                           for key, value in span.details.items()}}
                 for span in sorted(self.spans, key=lambda span: (span.begun, -span.ended))]
        return {"traceEvents": [*names, *threads, *spans], "displayTimeUnit": "ns"}
