"""The language of kernels: what is left of a program when equations have become loops.

    program ::= kernel*
    kernel  ::= Nest                                 loops over elements
              | Repeat program                       a loop around a program
              | Choose program*                      one of several programs
    stmt    ::= For axis in [begin, end): stmt*      one after the other, vectorised, or over threads
              | Declare local = node                 a C variable that may change
              | Row buffer                           an array on the stack
              | Store place = node
              | Combine place op= node
              | Inclusive local                      what is folded so far is read from here on, iteration by iteration
              | When guard: stmt*
              | Call text, place* [For]              of the BLAS, a hand-written routine or Python
    place   ::= local | buffer[offset]

Expressions are those of `nodes`. A kernel prints itself with its equations and what it costs.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tinytrace.codegen.c.types import element_size
from tinytrace.codegen.ir.nodes import Node
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
    simd: bool = False
    """Is it the vectorised one? Its iterations are independent but for folds into variables."""
    independent: bool = False
    """May its iterations run in any order, on any thread?"""
    grain: int = 0
    """Iterations that one thread takes at least, when the loop is spread over threads; 0: it is not."""


@dataclass(eq=False)
class Declare:
    """A new C variable; a `fixed` one never changes."""

    local: Node
    value: Node
    fixed: bool = False


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
class Inclusive:
    """From here to the end of a loop's body `local`, into which the loop folds, is read: a running fold."""

    local: Node


@dataclass(eq=False)
class When:
    """Run `body` where the guard holds."""

    guard: Node
    body: list[Stmt]


@dataclass(eq=False)
class Call:
    """A C statement over the addresses of places: `text` with {names} for them."""

    text: str
    places: dict[str, Place]
    written: tuple[str, ...]
    """The names of the places that the statement changes."""
    rows: int = 0
    """For a product of matrices: how many rows its result has."""
    then: For | None = None
    """A loop over these rows, or over equal parts of them, which starts with a row when that is done (`epilogue`)."""


Place: TypeAlias = "Node | tuple[Buffer, Node]"
Home: TypeAlias = "Node | Buffer"
"""Where a value is: in an array, or (a scalar) in a C variable or a literal."""
Stmt: TypeAlias = "For | Declare | Row | Store | Combine | Inclusive | When | Call"


def nested(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """Yield every statement of `body`, outer ones first."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, (For, When)):
            yield from nested(stmt.body)
        elif isinstance(stmt, Call) and stmt.then is not None:
            yield from nested([stmt.then])


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
        case Call(_, places):
            return [place if isinstance(place, Node) else place[1] for place in places.values()]
    return []


def written(stmt: Stmt) -> list[Place]:
    """Return the places that a statement changes itself."""
    if isinstance(stmt, (Store, Combine)):
        return [stmt.place]
    return [stmt.places[name] for name in stmt.written] if isinstance(stmt, Call) else []


def touched(stmt: Stmt) -> list[Buffer]:
    """Return the arrays that a statement reads or writes itself, other than by loads in its expressions."""
    places = list(stmt.places.values()) if isinstance(stmt, Call) else written(stmt)
    return [place[0] for place in places if not isinstance(place, Node)]


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
        inner = [line for program in inner_programs(self) for kernel in program if kernel.equations
                 for line in str(kernel).splitlines()]
        return "\n".join([self.headed(), *("    " + line for line in inner)])

    def headed(self) -> str:
        """Return what this kernel costs and its equations, without the programs inside it."""
        moved = f"reads {_amount(self.bytes_read)}B, writes {_amount(self.bytes_written)}B, {_amount(self.flops)}flop"
        saved = f", fusion saved {_amount(self.saved)}B" if self.saved else ""
        return "\n".join([f"{self.title()}: {moved}{saved}", *("    " + line for line in self.equations)])

    def title(self) -> str:
        """Return what kind of kernel this is, in a few words."""
        return type(self).__name__


@dataclass(eq=False)
class Nest(Kernel):
    """Loops over elements."""

    body: list[Stmt] = field(default_factory=list)
    heading: str = ""
    """What kind of kernel it was before its loops were rewritten."""

    def title(self) -> str:
        if self.heading:
            return self.heading
        if any(isinstance(stmt, Call) for stmt in nested(self.body)):
            return "call"
        loops = [str(stmt.axis.args[1]) for stmt in self.body if isinstance(stmt, For)]
        return f"loop over {' and '.join(loops)}" if loops else "scalars"


@dataclass(eq=False)
class View:
    """A pointer that each iteration of a loop moves on: `buffer = base + iteration * step`."""

    buffer: Buffer
    base: Buffer
    step: int


@dataclass(eq=False)
class Exchange:
    """Two arrays that a loop reads and writes in turn: what is `after` in one iteration is `before` in the next.

    The pointers start at `first` and `second`; when both are one array, nothing moves.
    """

    before: Buffer
    after: Buffer
    first: Buffer
    second: Buffer
    result: Buffer
    """Which of the two must hold the last values."""


@dataclass(eq=False)
class Repeat(Kernel):
    """A loop around a program."""

    iteration: Node | None = None
    """The C variable that counts, for a counted loop."""
    length: int = 0
    reverse: bool = False
    condition: list[Kernel] = field(default_factory=list)
    """For a conditional loop: what computes `wanted` before each iteration."""
    wanted: Node | None = None
    views: list[View] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    body: list[Kernel] = field(default_factory=list)

    def title(self) -> str:
        return f"repeat {self.length} times" if self.iteration is not None else "repeat while"


@dataclass(eq=False)
class Choose(Kernel):
    """One of several programs, chosen by an index."""

    index: Node | None = None
    branches: list[list[Kernel]] = field(default_factory=list)

    def title(self) -> str:
        return f"one of {len(self.branches)}"


def inner_programs(kernel: Kernel) -> list[list[Kernel]]:
    """Return the programs inside a kernel."""
    if isinstance(kernel, Repeat):
        return [kernel.condition, kernel.body]
    return kernel.branches if isinstance(kernel, Choose) else []


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
