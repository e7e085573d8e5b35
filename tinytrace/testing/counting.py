"""Counters: how often functions were traced, and programs compiled, while a block ran."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tinytrace.api.expectations import expect as expect
from tinytrace.api.jit import JitFunction
from tinytrace.runtime.ladder import stats

_lock = threading.Lock()


class Count:
    """A number that is asked by calling it."""

    def __init__(self, value: Callable[[], int]) -> None:
        self._value = value

    def __call__(self) -> int:
        return self._value()

    def __repr__(self) -> str:
        return str(self())


@contextmanager
def count_traces(fun: Any = None) -> Iterator[Count]:
    """Count the traces of jitted functions, or of `fun` alone, in this block, in all threads.

    Yields: a counter; calling it returns the number so far.

    >>> import tinytrace as jax
    >>> double = jax.jit(lambda x: x * 2)
    >>> with count_traces() as traces:
    ...     _ = double(1.0), double(2.0), double(3)
    >>> traces()
    2
    """
    seen: list[None] = []
    traced = JitFunction._trace
    wanted = getattr(fun, "__wrapped__", fun)

    def counted(self: JitFunction, *args: Any) -> Any:
        if wanted is None or self._fun is wanted:
            seen.append(None)
        return traced(self, *args)

    with mock.patch.object(JitFunction, "_trace", counted):
        yield Count(lambda: len(seen))


@contextmanager
def count_compiles() -> Iterator[Count]:
    """Count the programs that the C compiler was run for in this block, in all threads; those found on disk are none.

    Yields: a counter; calling it returns the number so far.

    >>> import tinytrace as jax
    >>> double = jax.jit(lambda x: x * 2)
    >>> _ = double(1.0)
    >>> with count_compiles() as compiles:
    ...     _ = double(2.0)
    >>> compiles()
    0
    """
    with _lock:
        before = stats.compiles
    yield Count(lambda: stats.compiles - before)
