"""What is asked of JAX's stack of traces, answered from the chain in which each trace knows its parent.

Such a question changes nothing: `thread_local_state.trace_state` is made anew each time. What it tells of a trace of
this package is the trace itself, which is its own main trace (`extend/lifting.py`).
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from tinytrace.core import trace as traces
from tinytrace.core.named_axes import Axis, axis_size, binding, bound_axes, hiding
from tinytrace.core.trace import EvalTrace, Trace, Tracer
from tinytrace.extend.main_traces import Scope
from tinytrace.extend.sublevels import MainTrace, Sublevel, stack
from tinytrace.records import NamedTuple
from tinytrace.transforms.staging import DynamicJaxprTrace
from tinytrace.transforms.vmap import BatchTrace


def chain() -> Iterator[Trace]:
    """Yield the current trace, its parent, and so on."""
    trace: Trace | None = traces.current_trace()
    while trace is not None:
        yield trace
        trace = trace.parent


def main_of(trace: Trace) -> Any:
    """Return the main trace that stands in the chain as `trace`."""
    return trace.main if isinstance(trace, Scope) else trace


def is_dynamic(trace: Trace) -> bool:
    """Do operations on no tracers go to `trace`?"""
    return isinstance(trace, DynamicJaxprTrace) or (isinstance(trace, Scope) and trace.dynamic)


def dynamic() -> Trace:
    """Return the innermost trace that operations on no tracers go to; the bottom if there is none."""
    return next(filter(is_dynamic, chain()), traces.bottom_trace)


def find_top_trace(xs: Iterable[Any], *unused: Any) -> Any:
    """Return the trace of the innermost tracer among `xs`, or where programs are written, whichever is further in."""
    found = [x._trace for x in xs if isinstance(x, Tracer)]
    top: Any = max([main_of(dynamic()), *found], key=lambda trace: trace.level)
    return (top.main if hasattr(top.main, "with_cur_sublevel") else top).with_cur_sublevel()


def raise_as_much_as_possible(tracer: Any) -> Any:
    """Return a value as a tracer of the innermost trace, lifted into one after the other."""
    inside = list(chain())
    for trace in reversed(inside[:inside.index(dynamic()) + 1]):
        main = main_of(trace)
        if not isinstance(tracer, Tracer) or tracer._trace.level < main.level:
            tracer = main.with_cur_sublevel().full_raise(tracer)
    return tracer


def trace_state_clean() -> bool:
    """Is nothing being traced?"""
    return traces.is_eager()


def reset_trace_state() -> bool:
    """Leave all traces that this thread is in; returns whether it was in none."""
    was_clean = trace_state_clean() and len(stack.sublevels) == 1
    if not was_clean:
        del stack.sublevels[1:]
        traces.set_current_trace(traces.bottom_trace).__enter__()
    return was_clean


# --- the stack, as JAX shows it ------------------------------------------------------------------------------------

class TraceStack:
    """Main traces, the outermost first, and the one to which operations on no tracers go."""

    def __init__(self) -> None:
        self.dynamic: Any = MainTrace(0, EvalTrace)
        self.stack: list[Any] = [self.dynamic]

    def next_level(self) -> int:
        """Return the level of the next one."""
        return len(self.stack)

    def push(self, main_trace: Any) -> None:
        """Add one."""
        self.stack.append(main_trace)

    def pop(self) -> None:
        """Take the last one away."""
        self.stack.pop()

    def copy(self) -> TraceStack:
        """Return another one of the same traces."""
        new = TraceStack()
        new.stack, new.dynamic = self.stack[:], self.dynamic
        return new

    def __repr__(self) -> str:
        return "Trace stack\n{}\n{}".format([f"  {main}\n" for main in self.stack[::-1]], self.dynamic)


class TraceState:
    """A stack of traces, the sublevels, and the axes that are mapped over, the outermost first."""

    def __init__(self) -> None:
        self.trace_stack = TraceStack()
        self.substack = [Sublevel(0)]
        self.axis_env: list[Any] = []

    def copy(self) -> TraceState:
        """Return another one of the same things."""
        new = TraceState()
        new.trace_stack, new.substack, new.axis_env = self.trace_stack.copy(), self.substack[:], self.axis_env[:]
        return new


class ThreadLocalState:
    """What JAX keeps for each thread."""

    @property
    def trace_state(self) -> TraceState:
        """What is being traced in this thread."""
        state = TraceState()
        if not trace_state_clean():
            state.trace_stack.stack[1:] = [main_of(trace) for trace in chain()][-2::-1]
        if dynamic() is not traces.bottom_trace:
            state.trace_stack.dynamic = main_of(dynamic())
        state.substack, state.axis_env = stack.sublevels[:], bound_axes()[::-1]
        return state


thread_local_state = ThreadLocalState()


class OpaqueTraceState(NamedTuple):
    """Something that is equal in two places if the same is being traced there."""

    info: Any
    convention: str


def get_opaque_trace_state(convention: str = "flax") -> OpaqueTraceState:
    """Return what the library of this convention compares to find out whether it is in another transformation."""
    current = traces.current_trace()
    info: dict[str, Any] = {"flax": dynamic().level, "haiku": (type(current).__name__, current.level),
                            "nnx": id(dynamic().tag)}
    if convention not in info:
        raise ValueError(f"unrecognized convention: {convention}")
    return OpaqueTraceState(info[convention], convention)


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:  # noqa: N802  (JAX's name)
    """Is a function being vectorized?"""
    return any(isinstance(trace, BatchTrace) for trace in chain())


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:  # noqa: N802  (JAX's name)
    """Is a program being written?"""
    return any(isinstance(trace, DynamicJaxprTrace) for trace in chain())


# --- axes ----------------------------------------------------------------------------------------------------------

def nonempty_axis_env_DO_NOT_USE() -> bool:  # noqa: N802  (JAX's name)
    """Is an axis being mapped over?"""
    return bool(bound_axes())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:  # noqa: N802  (JAX's name)
    """Return the names of the axes that are mapped over, the outermost first."""
    return [axis.name for axis in bound_axes()][::-1]


def axis_frame(axis_name: Any, main_trace: Any = None) -> Axis:
    """Return the innermost axis of a name, with its `name` and `size`; raises NameError when there is none."""
    return Axis(axis_size(axis_name), axis_name)


def extend_axis_env(axis_name: Any, size: int, tag: Any = None) -> contextlib.AbstractContextManager[None]:
    """Bind a name for what is traced inside the block; `tag` may be the main trace that maps over the axis."""
    if isinstance(tag, BatchTrace):
        tag.axis = Axis(size, axis_name)
        tag.axes = (tag.axis,)
        return contextlib.nullcontext()
    return binding(Axis(size, axis_name))


def stash_axis_env() -> contextlib.AbstractContextManager[None]:
    """Let what is traced in the block see no names of axes: asking for one is a NameError."""
    return hiding()
