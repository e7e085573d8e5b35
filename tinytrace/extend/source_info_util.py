"""`jax.extend.source_info_util`: which of the user's lines an equation is from, and the scopes in which it stands.

A name stack is JAX's form of the scopes that `jax.named_scope` opens (`core/source_info.py`): a tuple of `Scope` and
`Transform`. What stands on it here stands around equations that are traced meanwhile.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tinytrace._src.traceback_util import register_exclusion as register_exclusion
from tinytrace.core import source_info
from tinytrace.core.source_info import Transformed, replay, scopes, scopes_text
from tinytrace.records import dataclass
from tinytrace.transforms.staging import user_source
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)


@dataclass(frozen=True)
class Scope:
    """A name that `named_scope` gave."""

    name: str


@dataclass(frozen=True)
class Transform:
    """A transformation, whose name stands around what is in it."""

    name: str


@dataclass(frozen=True)
class NameStack:
    """The scopes around an equation, the outermost first.

    >>> str(NameStack().extend("model").transform("jvp").extend(("layer", "bias")))
    'model/jvp(layer)/bias'
    """

    stack: tuple[Scope | Transform, ...] = ()

    def extend(self, name: tuple[str, ...] | str) -> NameStack:
        """Return the stack with scopes more."""
        names = name if isinstance(name, tuple) else (name,)
        return NameStack(self.stack + tuple(map(Scope, names)))

    def transform(self, transform_name: str) -> NameStack:
        """Return the stack with a transformation more."""
        return NameStack((*self.stack, Transform(transform_name)))

    def wrap_name(self, name: str) -> str:
        """Return a name with the scopes before it."""
        return f"{self}/{name}" if self.stack else name

    def __getitem__(self, index: slice) -> NameStack:
        return NameStack(self.stack[index])

    def __len__(self) -> int:
        return len(self.stack)

    def __add__(self, other: NameStack) -> NameStack:
        return NameStack(self.stack + other.stack)

    def __str__(self) -> str:
        return scopes_text(_as_scopes(self))


def _as_scopes(stack: NameStack) -> tuple[str, ...]:
    return tuple(Transformed(x.name) if isinstance(x, Transform) else x.name for x in stack.stack)


def _as_stack(names: tuple[str, ...]) -> NameStack:
    return NameStack(tuple(Transform(str(x)) if isinstance(x, Transformed) else Scope(x) for x in names))


def new_name_stack(name: str = "") -> NameStack:
    """Return a stack with one scope, or none."""
    return NameStack().extend(name) if name else NameStack()


def current_name_stack() -> NameStack:
    """Return the scopes in which an equation would stand that is traced now."""
    return _as_stack(replay.scopes)


@contextlib.contextmanager
def set_name_stack(name_stack: NameStack) -> Iterator[None]:
    """Let what is traced in the block stand in these scopes, and in no others."""
    with scopes(_as_scopes(name_stack)):
        yield


def reset_name_stack() -> contextlib.AbstractContextManager[None]:
    """Let what is traced in the block stand in no scope."""
    return set_name_stack(NameStack())


@contextlib.contextmanager
def extend_name_stack(name: str) -> Iterator[NameStack]:
    """Let what is traced in the block stand in one scope more.

    >>> with extend_name_stack("layer") as stack:
    ...     str(stack)
    'layer'
    """
    with set_name_stack(current_name_stack().extend(name)):
        yield current_name_stack()


@contextlib.contextmanager
def transform_name_stack(name: str) -> Iterator[NameStack]:
    """Let what is traced in the block stand in the scope of a transformation."""
    with set_name_stack(current_name_stack().transform(name)):
        yield current_name_stack()


@dataclass(frozen=True)
class SourceInfo:
    """Where an equation was written.

    Args: traceback: the user's line, a `core.source_info.SourceInfo`, or None.  name_stack: the scopes around it.
    """

    traceback: Any
    name_stack: NameStack

    def replace(self, *, traceback: Any = None, name_stack: NameStack | None = None) -> SourceInfo:
        """Return this with what is given in the place of what it has."""
        return SourceInfo(self.traceback if traceback is None else traceback,
                          self.name_stack if name_stack is None else name_stack)


def of_source(source: source_info.SourceInfo | None) -> SourceInfo:
    """Return what an equation knows of where it was written, in this form."""
    return SourceInfo(source, NameStack() if source is None else _as_stack(source.scopes))


def as_source(info: Any) -> source_info.SourceInfo | None:
    """Return the same in the form that equations have."""
    line = getattr(info, "traceback", None)
    return None if line is None else source_info.SourceInfo(line.code, line.instruction, _as_scopes(info.name_stack))


def current() -> SourceInfo:
    """Return where an equation would be written that is traced now."""
    return SourceInfo(user_source(), current_name_stack())


def new_source_info() -> SourceInfo:
    """Return what is known of an equation that stands nowhere."""
    return SourceInfo(None, NameStack())


@contextlib.contextmanager
def user_context(c: Any, *, name_stack: NameStack | None = None) -> Iterator[None]:
    """Let what is traced in the block come from the line `c`, a `SourceInfo.traceback`, and stand in these scopes."""
    before = replay.source
    stack = current_name_stack() if name_stack is None else name_stack
    if isinstance(c, source_info.SourceInfo):
        replay.source = c
    try:
        with set_name_stack(stack):
            yield
    finally:
        replay.source = before


def summarize(source_info: Any, num_frames: int = 1) -> str:
    """Return a line as `file:line (function)`."""
    return str(getattr(source_info, "traceback", source_info) or "<unknown>")


__all__ = ["NameStack", "SourceInfo", "current", "current_name_stack", "extend_name_stack", "new_name_stack",
           "new_source_info", "register_exclusion", "reset_name_stack", "set_name_stack", "summarize",
           "transform_name_stack", "user_context"]
