"""The language of kernels: what is left of a program when equations have become loops.

    program ::= kernel*
    kernel  ::= Nest        loops over elements
              | Product     a matrix product by the host's BLAS
              | Repeat      a loop around a program
              | Choose      one of several programs
              | Foreign     a hand-written routine, or a call of Python
    stmt    ::= For axis in [begin, end): stmt*      serial, simd or parallel
              | Declare local = node                 a C variable that may change
              | Row buffer                           an array on the stack
              | Store place = node
              | Combine place op= node
              | When guard: stmt*
    place   ::= local | buffer[offset]

Expressions are those of `nodes`. A kernel prints itself with its equations and what it costs.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tinytrace.codegen.c_types import element_size
from tinytrace.codegen.nodes import Node
from tinytrace.core.dtypes import DType, short_name


@dataclass(eq=False)
class Buffer:
    """A contiguous array that C sees through a pointer called `name`."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    space: str
    """input, output, workspace, row (an array on the stack) or view (a pointer that the program around it moves)."""
    offset: int = 0
    """Where it lies in the workspace, in bytes."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * element_size(self.dtype)

    def __str__(self) -> str:
        return f"{self.name}:{short_name(self.dtype)}[{','.join(map(str, self.shape))}]"


# --- statements --------------------------------------------------------------------------------------------------

@dataclass(eq=False)
class For:
    """Run `body` for every value of `axis` from `begin` up to `end`."""

    axis: Node
    begin: Node
    end: Node
    body: list[Stmt]
    how: str = "serial"
    """serial; simd: iterations are independent but for folds into variables; parallel: and spread over threads."""
    grain: int = 1
    """Iterations that one thread takes at least, when parallel."""


@dataclass(eq=False)
class Declare:
    """A new C variable."""

    local: Node
    value: Node


@dataclass(eq=False)
class Row:
    """A new array on the stack."""

    buffer: Buffer


@dataclass(eq=False)
class Store:
    """`place = value`; place is a local, or (buffer, offset)."""

    place: Place
    value: Node


@dataclass(eq=False)
class Combine:
    """`place = place op value`, an operation of `reductions`."""

    place: Place
    op: str
    value: Node


@dataclass(eq=False)
class When:
    """Run `body` where the guard holds."""

    guard: Node
    body: list[Stmt]


Place: TypeAlias = "Node | tuple[Buffer, Node]"
Stmt: TypeAlias = "For | Declare | Row | Store | Combine | When"


def nested(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """Yield every statement of `body`, outer ones first."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, (For, When)):
            yield from nested(stmt.body)


def expressions(stmt: Stmt) -> list[Node]:
    """Return the expressions that a statement evaluates itself."""
    match stmt:
        case For(_, begin, end):
            return [begin, end]
        case Declare(_, value):
            return [value]
        case Store(place, value) | Combine(place, _, value):
            return [value] if isinstance(place, Node) else [place[1], value]
        case When(guard):
            return [guard]
    return []


# --- kernels -----------------------------------------------------------------------------------------------------

@dataclass(eq=False)
class Kernel:
    """A part of a program that runs on its own, and what it costs."""

    equations: list[str] = field(default_factory=list)
    """The text of each equation in it."""
    reads: list[Buffer] = field(default_factory=list)
    writes: list[Buffer] = field(default_factory=list)
    flops: int = 0
    saved: int = 0
    """Bytes that one kernel per equation would have moved in addition."""

    @property
    def bytes_read(self) -> int:
        return sum(buffer.nbytes for buffer in self.reads)

    @property
    def bytes_written(self) -> int:
        return sum(buffer.nbytes for buffer in self.writes)

    def __str__(self) -> str:
        moved = f"reads {_amount(self.bytes_read)}B, writes {_amount(self.bytes_written)}B, {_amount(self.flops)}flop"
        saved = f", fusion saved {_amount(self.saved)}B" if self.saved else ""
        return "\n".join([f"{self.title()}: {moved}{saved}", *("    " + eqn for eqn in self.equations)])

    def title(self) -> str:
        """Return what kind of kernel this is, in a few words."""
        return type(self).__name__


@dataclass(eq=False)
class Nest(Kernel):
    """Loops over elements."""

    body: list[Stmt] = field(default_factory=list)

    def title(self) -> str:
        loops = [f"{s.axis.args[1]}" for s in nested(self.body) if isinstance(s, For)]
        return f"nest over {' '.join(loops)}" if loops else "scalars"


def _amount(x: float) -> str:
    """Return a number in three digits with a decimal prefix.

    >>> _amount(4_000_000)
    '4.00 M'
    """
    for prefix in ("", "k", "M", "G", "T"):
        if abs(x) < 1000 or prefix == "T":
            return f"{x:.3g} {prefix}" if not prefix else f"{x:#.3g} {prefix}"
        x /= 1000
    raise AssertionError
