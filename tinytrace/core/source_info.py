"""Where equations were written: the user's line, and the scopes around it; what is run again keeps those it had."""
from __future__ import annotations

import contextlib
import functools
import itertools
import threading
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from tinytrace.util import nesting


class SourceInfo:
    """Where the user wrote an equation; line and column are looked up only when a message asks for them."""

    __slots__ = ("code", "instruction", "scopes")

    def __init__(self, code: CodeType, instruction: int, scopes: tuple[str, ...] = ()) -> None:
        self.code = code
        self.instruction = instruction
        self.scopes = scopes
        """The scopes that it was written in, outermost first: those of `named_scope`, and `Transformed`."""

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def function(self) -> str:
        return self.code.co_qualname

    @property
    def line(self) -> int:
        return self.position()[0] or self.code.co_firstlineno

    def __str__(self) -> str:
        column = self.position()[2]
        return f"{self.file}:{self.line}{f':{column}' if column else ''} ({self.function})"

    def __repr__(self) -> str:
        return f"<{self}>"

    def position(self) -> tuple[int | None, ...]:
        """Return first line, last line, first column and last column of the instruction."""
        return next(itertools.islice(self.code.co_positions(), self.instruction // 2, None), (None,) * 4)

    def __reduce__(self) -> tuple[Any, ...]:
        return _source_at, (self.file, self.function, self.line)

    def __deepcopy__(self, memo: dict[int, Any]) -> SourceInfo:
        return self


@functools.lru_cache(4096)
def _source_at(file: str, function: str, line: int) -> SourceInfo:
    """Return a line of a program that this process does not have: columns and names of variables are lost."""
    code = compile("", file, "exec").replace(co_firstlineno=line, co_qualname=function, co_linetable=b"")
    return SourceInfo(code, 0)


class Transformed(str):
    """The scope that a transformation is: its name stands around the scope inside it, `jvp(layer1)`."""

    __slots__ = ()


def scopes_text(scopes: Sequence[str]) -> str:
    """Return scopes as a name stack prints.

    >>> scopes_text(["model", Transformed("transpose"), Transformed("jvp"), "layer1", "bias"])
    'model/transpose(jvp(layer1))/bias'
    """
    shown: list[str] = []
    for scope in reversed(scopes):
        if not isinstance(scope, Transformed):
            shown.insert(0, scope)
        elif shown:
            shown[0] = f"{scope}({shown[0]})"
    return "/".join(shown)


class _Replay(threading.local):
    """The line of the equation that is being run again, and the scopes: whatever it leads to was written there."""

    source: SourceInfo | None = None
    scopes: tuple[str, ...] = ()


replay = _Replay()


@contextlib.contextmanager
def scopes(inner: tuple[str, ...]) -> Iterator[None]:
    """Let equations written inside the block stand in these scopes, and in no others."""
    before = replay.scopes
    replay.scopes = inner
    try:
        yield
    finally:
        replay.scopes = before


def transformed(name: str) -> contextlib.AbstractContextManager[None]:
    """Let what is written inside the block stand in the scope of a transformation."""
    return scopes((*replay.scopes, Transformed(name)))


@contextlib.contextmanager
def replayed_source() -> Iterator[_Replay]:
    """Let equations written inside the block come from the line that is set on what it yields."""
    previous, before = replay.source, replay.scopes
    nesting.depth += 1
    try:
        yield replay
    finally:
        nesting.depth -= 1
        replay.source, replay.scopes = previous, before
