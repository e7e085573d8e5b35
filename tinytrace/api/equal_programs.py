"""Programs that equal jaxprs share: a fresh lambda costs its tracing, and nothing is compiled again for it."""
from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tinytrace import runtime
from tinytrace.api.loaded_code import forget_what_is_made_of_programs
from tinytrace.api.tables import RecentTable
from tinytrace.config import trace_context
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.structure import structure_of


class EqualProgram:
    """A jaxpr that is equal to every jaxpr of the same structure that is compiled under the same settings."""

    __slots__ = ("closed", "hash", "key")

    def __init__(self, closed: ClosedJaxpr, structure: Hashable, donated: frozenset[int]) -> None:
        self.closed = closed
        self.key = structure, trace_context(), donated
        self.hash = hash(self.key)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EqualProgram) and self.key == other.key


programs: RecentTable[EqualProgram, Any] = RecentTable(2048)
"""The program of each, an `api.program.Program`."""


def equal_to(closed: ClosedJaxpr, donated: frozenset[int]) -> EqualProgram | None:
    """Return the key under which equal jaxprs find a program, None if there is none."""
    structure = structure_of(closed.jaxpr)
    return None if structure is None else EqualProgram(closed, structure, donated)


def forget_program(program: Any) -> None:
    """Forget that equal jaxprs share a program; its machine code goes when nobody holds it."""
    if program.shared_as is not None:
        programs.pop(program.shared_as)
    if (executable := program.__dict__.get("executable")) is not None:
        runtime.ladder.forget(executable)


def forget_programs() -> None:
    """Forget every program that equal jaxprs share, and what is made of them."""
    programs.clear()
    forget_what_is_made_of_programs()
