"""Statements: what is left of a program inside of its kernels when equations have become loops.

    stmt    ::= For axis in [begin, end): stmt*      one after the other, vectorised, or over threads
              | Declare local = node                 a C variable that may change
              | Row buffer                           an array on the stack
              | Store place = node
              | Combine place op= node
              | Inclusive local                      what is folded so far is read from here on, iteration by iteration
              | When guard: stmt*
              | Call procedure, place* [For]         of the BLAS, a hand-written routine or Python
              | Either feature: stmt* else stmt*     two ways to the same bits, of which one is taken
    place   ::= local | buffer[offset]

Expressions are those of `nodes`. All of these are values: passes make new ones and never change one.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from tinytrace.codegen.ir.nodes import NO_EQNS, Node, walk
from tinytrace.codegen.ir.procedures import Procedure
from tinytrace.core.dtypes import FLOAT32, DType, element_size, short_name
from tinytrace.records import dataclass, replace


@dataclass(frozen=True, eq=False)
class Buffer:
    """A contiguous array that C sees through a pointer called `name`; two arrays are one if they are one object.

    Which bytes it gets is decided last, by `memory`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    space: str
    """input, output, workspace, row (an array on the stack) or view (a pointer that the program around it moves)."""
    eqns: frozenset[int] = NO_EQNS
    """The ids of the equations whose partial results it holds; none for others, which several may share."""
    given: bool = False
    """Is it an output that holds a donated argument when the program begins?"""
    wide: bool = False
    """Does an array on the stack hold halves as variables do, as floats? What is stored there waits for its rounding,
    which is a call on the whole array."""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * (element_size(FLOAT32) if self.wide else element_size(self.dtype))

    def __str__(self) -> str:
        return f"{self.name}:{short_name(self.dtype)}[{','.join(map(str, self.shape))}]"


# --- statements --------------------------------------------------------------------------------------------------

@dataclass(frozen=True, eq=False)
class For:
    """Run `body` for every value of `axis` from `begin` up to `end`."""

    axis: Node
    begin: Node
    end: Node
    body: Sequence[Stmt]
    simd: bool = False
    """Is it the vectorised one? Its iterations are independent but for folds into variables."""
    independent: bool = False
    """May its iterations run in any order, on any thread?"""
    grain: int = 0
    """Iterations that one thread takes at least, when the loop is spread over threads; 0: it is not."""
    waits: bool = False
    """Are products rounded before they are added, as in a loop that does nothing else (`cost.waits_for_folds`)?"""


@dataclass(frozen=True, eq=False)
class Declare:
    """A new C variable; a `fixed` one never changes."""

    local: Node
    value: Node
    fixed: bool = False


@dataclass(frozen=True, eq=False)
class Row:
    """A new array on the stack."""

    buffer: Buffer


@dataclass(frozen=True, eq=False)
class Store:
    """`place = value`; place is a local, or (buffer, offset)."""

    place: Place
    value: Node
    eqns: frozenset[int] = NO_EQNS
    """The ids of the equations whose result is stored; those of what is computed for it are in `value`."""


@dataclass(frozen=True, eq=False)
class Combine:
    """`place = place op value`, an operation of `reductions`."""

    place: Place
    op: str
    value: Node


@dataclass(frozen=True, eq=False)
class Inclusive:
    """From here to the end of a loop's body `local`, into which the loop folds, is read: a running fold."""

    local: Node


@dataclass(frozen=True, eq=False)
class When:
    """Run `body` where the guard holds."""

    guard: Node
    body: Sequence[Stmt]


@dataclass(frozen=True, eq=False)
class Call:
    """A call of functions that take places by their addresses."""

    procedure: Procedure
    places: dict[str, Place]
    written: tuple[str, ...]
    """The names of the places that the statement changes."""
    flops: int = 0
    """Operations on elements that it takes."""
    rows: int = 0
    """For a product of matrices: how many rows its result has."""
    then: For | None = None
    """A loop over these rows, or over equal parts of them, which starts with a row when that is done (`epilogue`)."""


@dataclass(frozen=True, eq=False)
class Either:
    """Two ways to the same bits: `body` where the CPU has a feature, else `otherwise`."""

    feature: str
    """The macro by which the compiler says so, or the entry of the host that is asked when the program runs."""
    body: Sequence[Stmt]
    otherwise: Sequence[Stmt]
    is_asked: bool = False
    """Is it an entry of the host? Then both ways are compiled."""


Place: TypeAlias = "Node | tuple[Buffer, Node]"
Home: TypeAlias = "Node | Buffer"
"""Where a value is: in an array, or (a scalar) in a C variable or a literal."""
Stmt: TypeAlias = "For | Declare | Row | Store | Combine | Inclusive | When | Call | Either"


def nested(body: Sequence[Stmt]) -> list[Stmt]:
    """Return every statement of `body`, outer ones first."""
    found: list[Stmt] = []
    for stmt in body:
        found.append(stmt)
        if isinstance(stmt, (For, When)):
            found += nested(stmt.body)
        elif isinstance(stmt, Call) and stmt.then is not None:
            found += nested([stmt.then])
        elif isinstance(stmt, Either):
            found += nested([*stmt.body, *stmt.otherwise])
    return found


def expressions(stmt: Stmt) -> list[Node]:
    """Return the expressions that a statement evaluates itself."""
    if isinstance(stmt, (Store, Combine)):
        return [stmt.value] if isinstance(stmt.place, Node) else [stmt.place[1], stmt.value]
    if isinstance(stmt, For):
        return [stmt.begin, stmt.end]
    if isinstance(stmt, Declare):
        return [stmt.value]
    if isinstance(stmt, Call):
        return [place if isinstance(place, Node) else place[1] for place in stmt.places.values()]
    return [stmt.guard] if isinstance(stmt, When) else []


def written(stmt: Stmt) -> list[Place]:
    """Return the places that a statement changes itself."""
    if isinstance(stmt, (Store, Combine)):
        return [stmt.place]
    return [stmt.places[name] for name in stmt.written] if isinstance(stmt, Call) else []


def touched(stmt: Stmt) -> list[Buffer]:
    """Return the arrays that a statement reads or writes itself, other than by loads in its expressions."""
    places = list(stmt.places.values()) if isinstance(stmt, Call) else written(stmt)
    return [place[0] for place in places if not isinstance(place, Node)]


def changed(body: Sequence[Stmt]) -> set[str]:
    """Return the names of the arrays that statements change."""
    return {place[0].name for stmt in nested(body) for place in written(stmt) if not isinstance(place, Node)}


def captured(body: Sequence[Stmt]) -> tuple[list[Buffer], list[Node]]:
    """Return the arrays and variables of the program around them that statements use."""
    inside = list(nested(body))
    own = {stmt.buffer.name for stmt in inside if isinstance(stmt, Row)}
    made = {stmt.local for stmt in inside if isinstance(stmt, Declare)}
    buffers: dict[Buffer, None] = {}
    variables: dict[Node, None] = {}
    for stmt in inside:
        for node in walk(expressions(stmt)):
            if node.op == "load":
                buffers.setdefault(node.args[0])
            elif node.op == "local" and node not in made:
                variables.setdefault(node)
        buffers.update(dict.fromkeys(touched(stmt)))
    by_name = {b.name: b for b in buffers if b.name not in own}
    return list(by_name.values()), list(variables)


OwnerT = TypeVar("OwnerT", bound="For | When")


def with_body(owner: OwnerT, body: Sequence[Stmt]) -> OwnerT:
    """Return a loop or guard with another body; itself when that is the same."""
    return owner if are_same(body, owner.body) else replace(owner, body=body)


def are_same(body: Sequence[object], other: Sequence[object]) -> bool:
    """Do both consist of the same objects?"""
    return len(body) == len(other) and all(a is b for a, b in zip(body, other, strict=True))


def operations(body: Sequence[Stmt], times: int = 1) -> int:
    """Return how many operations on elements statements take, done `times` times."""
    total = 0
    for stmt in body:
        total += times * sum(node.args[0].flops for node in walk(expressions(stmt)) if node.op == "apply")
        total += times * isinstance(stmt, Combine)
        if isinstance(stmt, For):
            total += operations(stmt.body, times * stmt.axis.args[1])
        elif isinstance(stmt, When):
            total += operations(stmt.body, times)
        elif isinstance(stmt, Call):
            total += times * stmt.flops + (operations([stmt.then], times) if stmt.then is not None else 0)
        elif isinstance(stmt, Either):
            total += operations(stmt.body, times)
    return total
