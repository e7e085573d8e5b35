"""Runs programs: their value, or the error that they raise, within a time limit."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import linecache
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

LIMIT = 2.0
"""Seconds of processor time that one case may take."""


@dataclass(frozen=True)
class Raised:
    """What a program shows that raises an exception; two are the same if their classes are."""

    kind: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


class OutOfTimeError(BaseException):
    """A program takes too long. Not an Exception: an answer that catches those must not catch this."""


def namespace(setup: str, **names: Any) -> dict[str, Any]:
    """The names that a setup defines, beside those that are given."""
    found: dict[str, Any] = {"__name__": "__main__", **names}
    exec(compile(setup, shown_as("setup", setup), "exec", dont_inherit=True), found)
    return found


def value_of(program: str, names: dict[str, Any]) -> Any:
    """The value of the program's last expression, run in a copy of `names`; None if it ends in something else.

    >>> value_of("y = x + 1\\ny * 2", {"x": 1})
    4
    """
    names = dict(names)
    statements, last = _compiled(program)
    exec(statements, names)
    return eval(last, names) if last else None


@functools.lru_cache(maxsize=10_000)
def _compiled(program: str) -> tuple[CodeType, CodeType | None]:
    """The statements of a program and its last expression, if it ends in one: a case is run with many answers."""
    tree = ast.parse(program)
    file = shown_as("case", program)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return compile(tree, file, "exec", dont_inherit=True), None
    return (compile(ast.Module(tree.body[:-1], []), file, "exec", dont_inherit=True),
            compile(ast.Expression(last.value), file, "eval", dont_inherit=True))


def observe(program: str, names: dict[str, Any], seconds: float | None = None) -> Any:
    """What a program shows: its value, or `Raised`. What it prints is dropped; what takes too long is ended."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), time_limit(seconds or LIMIT):
            return copied(value_of(program, names))
    except OutOfTimeError:
        return Raised("OutOfTime", f"no answer within {seconds or LIMIT:g} s")
    except (Exception, SystemExit) as error:
        return Raised(type(error).__name__, str(error).strip().partition("\n")[0])


def shown_as(kind: str, program: str) -> str:
    """A file name under which tracebacks and `inspect.getsource` find the lines of a program."""
    file = f"<{kind} {abs(hash(program)):x}>"
    linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)
    return file


def copied(value: Any) -> Any:
    """The value with its lists, tuples and dictionaries copied, so that what runs later cannot change them."""
    if type(value) in (list, tuple, set):
        return type(value)(map(copied, value))
    return {key: copied(item) for key, item in value.items()} if type(value) is dict else value


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises OutOfTimeError in the block when it has used so much processor time; where there is no timer, never.

    Processor time, so that a busy machine changes no verdict; again and again, should a first one be caught.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise OutOfTimeError

    previous = signal.signal(signal.SIGPROF, stop)
    outer = signal.setitimer(signal.ITIMER_PROF, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        signal.setitimer(signal.ITIMER_PROF, *outer)
