"""What happens on the way from a call to its program, told to whoever listens: expectations, logs, notebooks.

    trace    a function was traced           subject: (the jitted function, its key among traces)
    miss     a call was not known            subject: (the jitted function, its key among calls)
    pass     a jaxpr was simplified          subject: text
    load     machine code was found          name: memory, disk, shared disk, compiler, interpreter

While nobody listens, nothing is made.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tinytrace.records import NamedTuple


class Event(NamedTuple):
    """One thing that happened: its kind, the name of what it happened to, and how long it took."""

    kind: str
    name: str
    seconds: float
    subject: Any = None


listeners: list[Callable[[Event], None]] = []


def tell(kind: str, name: str, seconds: float = 0.0, subject: Any = None) -> None:
    """Tell every listener of an event."""
    if listeners:
        event = Event(kind, name, seconds, subject)
        for listener in tuple(listeners):
            listener(event)


@contextmanager
def listening(listener: Callable[[Event], None]) -> Iterator[None]:
    """Let `listener` hear what happens inside the block, in whatever thread."""
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)
