"""Where we are, for `jax.core`: in which transformation, and how many calls deep.

A `MainTrace` is a transformation that is running. A call that is traced with no trace of its own is a `Sublevel`.
"""
from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

from tinytrace.config import config
from tinytrace.extend.leaks import leaked_tracer_error, maybe_find_leaked_tracers


@functools.total_ordering
class Sublevel:
    """How many calls with no trace of their own there are around."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __eq__(self, other: object) -> bool:
        return type(other) is Sublevel and self.level == other.level

    def __lt__(self, other: object) -> bool:
        return type(other) is Sublevel and self.level < other.level

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return str(self.level)


class _Stack(threading.local):
    def __init__(self) -> None:
        self.sublevels = [Sublevel(0)]


stack = _Stack()


def cur_sublevel() -> Sublevel:
    """Return the sublevel of what is traced here."""
    return stack.sublevels[-1]


class MainTrace:
    """A transformation that is running: its level, the class of its traces, and what these are made with besides."""

    def __init__(self, level: int, trace_type: type[Any], **payload: Any) -> None:
        self.level, self.trace_type, self.payload = level, trace_type, payload

    def with_cur_sublevel(self) -> Any:
        """Return the trace for operations here."""
        return self.trace_type(self, cur_sublevel(), **self.payload)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MainTrace) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.level, self.trace_type))

    def __repr__(self) -> str:
        return f"MainTrace({self.level},{self.trace_type.__name__})"


@contextlib.contextmanager
def new_sublevel() -> Iterator[None]:
    """Trace what is in the block one sublevel further in; under `check_tracer_leaks` no tracer of it may be left.

    >>> with new_sublevel():
    ...     cur_sublevel()
    1
    """
    sublevel = Sublevel(len(stack.sublevels))
    stack.sublevels.append(sublevel)
    try:
        yield
    finally:
        stack.sublevels.pop()
    if config.check_tracer_leaks:
        check_leaks("sublevel", sublevel)


def check_leaks(what: str, x: object) -> None:
    """Raise an Exception if somebody holds a tracer whose trace belongs to `x`."""
    if leaked := maybe_find_leaked_tracers(x):
        raise leaked_tracer_error(what, x, leaked)
