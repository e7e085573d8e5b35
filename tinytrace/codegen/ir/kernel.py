"""Kernels: the parts of a program that run one after the other, and what they read, write and compute.

    program ::= kernel*
    kernel  ::= Nest stmt*                           loops over elements: `statements`
              | Nest (Nest, renaming)                those of another one, with other arrays: `renaming`
              | Repeat program                       a loop around a program
              | Choose program*                      one of several programs

All of these are values: passes make new ones and never change one. What a kernel reads, writes and computes is derived
from its statements when it is asked for. A kernel prints itself with its equations and what it costs.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, overload

from tinytrace.codegen.ir.equations import Equation
from tinytrace.codegen.ir.nodes import NO_EQNS, Node, walk
from tinytrace.codegen.ir.renaming import Renaming
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    For,
    Stmt,
    are_same,
    captured,
    expressions,
    nested,
    operations,
    touched,
    written,
)
from tinytrace.records import NamedTuple, dataclass, replace
from tinytrace.util import lazy


@dataclass(frozen=True, eq=False)
class Kernel:
    """A part of a program that runs on its own."""

    equations: Sequence[Equation] = ()
    """What is shown of each equation in it."""
    eqns: frozenset[int] = NO_EQNS
    """The ids of these equations."""

    @property
    def saved(self) -> int:
        """Bytes that one kernel per equation would have moved in addition."""
        raise NotImplementedError

    @property
    def reads(self) -> list[Buffer]:
        """The arrays that it reads, as the program around it knows them."""
        return [buffer for buffer in self.accesses[0] if buffer.space != "row"]

    @property
    def writes(self) -> list[Buffer]:
        """The arrays that it changes, as the program around it knows them."""
        return [buffer for buffer in self.accesses[1] if buffer.space != "row"]

    @lazy
    def accesses(self) -> tuple[dict[Buffer, None], dict[Buffer, None]]:
        """The arrays that it reads, and those that it changes."""
        raise NotImplementedError

    @property
    def flops(self) -> int:
        """Operations on elements."""
        raise NotImplementedError

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
        return "\n".join([self.summary(), *(f"    {equation}" for equation in self.equations)])

    def summary(self) -> str:
        """Return what this kernel is and costs."""
        moved = f"reads {_amount(self.bytes_read)}B, writes {_amount(self.bytes_written)}B, {_amount(self.flops)}flop"
        saved = f", fusion saved {_amount(self.saved)}B" if self.saved else ""
        return f"{self.title()}: {moved}{saved}"

    def title(self) -> str:
        """Return what kind of kernel this is, in a few words."""
        return type(self).__name__


class Contents(NamedTuple):
    """What a nest consists of, found in one walk: passes that have nothing to do there see it so."""

    reads: dict[Buffer, None]
    writes: dict[Buffer, None]
    variables: set[Node]
    """Those that are read."""
    operators: set[str]
    """The kinds of its nodes."""

    def touches(self, about: Callable[[Buffer], bool]) -> bool:
        """Is there such an array?"""
        return any(map(about, chain(self.reads, self.writes)))

    def renamed(self, renaming: Renaming) -> Contents:
        """Return what an equal nest consists of."""
        reads, writes = ({renaming.array(b): None for b in found} for found in self[:2])
        return Contents(reads, writes, set(map(renaming.variable, self.variables)), self.operators)


@dataclass(frozen=True, eq=False)
class Nest(Kernel):
    """Loops over elements."""

    body: Sequence[Stmt] = ()
    saved: int = 0
    heading: str = ""
    """What kind of kernel it was before its loops were rewritten."""

    @property
    def accesses(self) -> tuple[dict[Buffer, None], dict[Buffer, None]]:
        return self.contents[:2]

    @property
    def form(self) -> Nest:
        """The nest whose statements these are but for names: another one, or this."""
        return self.body.original if isinstance(self.body, Renamed) else self

    def renamed(self, name: str) -> str:
        """Return what something of its form is called here."""
        return self.body.renaming.name(name) if isinstance(self.body, Renamed) else name

    @lazy
    def contents(self) -> Contents:
        """What it consists of."""
        if isinstance(self.body, Renamed):
            return self.form.contents.renamed(self.body.renaming)
        reads: dict[Buffer, None] = {}
        writes: dict[Buffer, None] = {}
        variables: set[Node] = set()
        operators: set[str] = set()
        made: list[Buffer] = []  # by a product, before the loop that follows it row by row reads them
        for stmt in self.statements:
            for node in walk(expressions(stmt)):
                operators.add(node.op)
                if node.op == "load":
                    reads.setdefault(node.args[0])
                elif node.op == "local":
                    variables.add(node)
            changed = [place[0] for place in written(stmt) if not isinstance(place, Node)]
            writes.update(dict.fromkeys(changed))
            if isinstance(stmt, Call):
                reads.update(dict.fromkeys(buffer for buffer in touched(stmt) if buffer not in changed))
                made = changed if stmt.then is not None else []
        return Contents({buffer: None for buffer in reads if buffer not in made}, writes, variables, operators)

    @lazy
    def statements(self) -> list[Stmt]:
        """Every statement of it, outer ones first."""
        return nested(self.body)

    @lazy
    def captured(self) -> tuple[list[Buffer], list[Node]]:
        """The arrays and variables of the program around it that it uses."""
        if isinstance(self.body, Renamed):
            buffers, variables = self.form.captured
            return list(map(self.body.renaming.array, buffers)), list(map(self.body.renaming.variable, variables))
        return captured(self.body)

    @lazy
    def flops(self) -> int:
        return operations(self.body) if self.form is self else self.form.flops

    def with_body(self, body: Sequence[Stmt]) -> Nest:
        """Return the nest of other statements; itself when these are the same."""
        return self if body is self.body or are_same(body, self.body) else replace(self, body=body)

    def title(self) -> str:
        if self.heading:
            return self.heading
        if self.form is not self:
            return self.form.title()
        if any(isinstance(stmt, Call) for stmt in self.statements):
            return "call"
        loops = [str(stmt.axis.args[1]) for stmt in self.body if isinstance(stmt, For)]
        return f"loop over {' and '.join(loops)}" if loops else "scalars"


class Renamed(Sequence[Stmt]):
    """The statements of a nest with other arrays, variables and equations; they are made when somebody reads them."""

    def __init__(self, original: Nest, renaming: Renaming) -> None:
        self.original = original
        self.renaming = renaming

    @lazy
    def statements(self) -> list[Stmt]:
        return self.renaming.of(self.original.body)

    def behind(self, array: Buffer) -> Buffer:
        """Return the array of the original that is this one here."""
        return next((old for old, new in self.renaming.arrays.items() if new is array), array)

    def __len__(self) -> int:
        return len(self.original.body)

    @overload
    def __getitem__(self, k: int) -> Stmt: ...

    @overload
    def __getitem__(self, k: slice) -> list[Stmt]: ...

    def __getitem__(self, k: int | slice) -> Stmt | list[Stmt]:
        return self.statements[k]


@dataclass(frozen=True, eq=False)
class View:
    """A pointer that each iteration of a loop moves on: `buffer = base + iteration * step`."""

    buffer: Buffer
    base: Buffer
    step: int


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
class Repeat(Kernel):
    """A loop around a program."""

    iteration: Node | None = None
    """The C variable that counts, for a counted loop."""
    length: int = 0
    reverse: bool = False
    condition: Sequence[Kernel] = ()
    """For a conditional loop: what computes `wanted` before each iteration."""
    wanted: Node | None = None
    variables: Sequence[Node] = ()
    """The scalars that one iteration leaves to the next."""
    views: Sequence[View] = ()
    exchanges: Sequence[Exchange] = ()
    body: Sequence[Kernel] = ()
    grain: int = 0
    """Iterations that one thread takes at least, when the loop is spread over threads; 0: it is not."""
    private: Sequence[Buffer] = ()
    """Arrays on the stack that each iteration has for itself, when they are on threads."""

    @lazy
    def accesses(self) -> tuple[dict[Buffer, None], dict[Buffer, None]]:
        behind = {view.buffer: [view.base] for view in self.views}
        for pair in self.exchanges:
            behind[pair.before] = behind[pair.after] = list(dict.fromkeys([pair.first, pair.second]))
        both = _accesses_inside(self)
        wanted = [node.args[0] for node in walk([self.wanted]) if node.op == "load"] if self.wanted is not None else []
        reads, writes = [*both[0], *wanted], both[1]
        return _real(reads, behind), _real(writes, behind)

    @property
    def flops(self) -> int:
        return max(self.length, 1) * sum(kernel.flops for kernel in (*self.condition, *self.body))

    @property
    def saved(self) -> int:
        return max(self.length, 1) * sum(kernel.saved for kernel in (*self.condition, *self.body))

    def title(self) -> str:
        return f"repeat {self.length} times" if self.iteration is not None else "repeat while"


@dataclass(frozen=True, eq=False)
class Choose(Kernel):
    """One of several programs, chosen by an index."""

    index: Node | None = None
    branches: Sequence[Sequence[Kernel]] = ()

    @lazy
    def accesses(self) -> tuple[dict[Buffer, None], dict[Buffer, None]]:
        reads, writes = _accesses_inside(self)
        assert self.index is not None
        return reads | {node.args[0]: None for node in walk([self.index]) if node.op == "load"}, writes

    @property
    def flops(self) -> int:
        return max((sum(kernel.flops for kernel in branch) for branch in self.branches), default=0)

    @property
    def saved(self) -> int:
        return sum(kernel.saved for branch in self.branches for kernel in branch)

    def title(self) -> str:
        return f"one of {len(self.branches)}"


def _accesses_inside(kernel: Kernel) -> tuple[dict[Buffer, None], dict[Buffer, None]]:
    reads: dict[Buffer, None] = {}
    writes: dict[Buffer, None] = {}
    for program in inner_programs(kernel):
        for part in program:
            reads |= part.accesses[0]
            writes |= part.accesses[1]
    return reads, writes


def _real(buffers: Iterable[Buffer], behind: dict[Buffer, list[Buffer]]) -> dict[Buffer, None]:
    """Return the arrays that pointers point into."""
    return {real: None for buffer in buffers for real in behind.get(buffer, [buffer])}


def inner_programs(kernel: Kernel) -> list[Sequence[Kernel]]:
    """Return the programs inside a kernel."""
    if isinstance(kernel, Repeat):
        return [kernel.condition, kernel.body]
    return list(kernel.branches) if isinstance(kernel, Choose) else []


def with_programs(kernel: Kernel, programs: Sequence[Sequence[Kernel]]) -> Kernel:
    """Return a kernel with other programs inside it: itself, if these consist of the same kernels."""
    if all(map(are_same, programs, inner_programs(kernel))):
        return kernel
    if isinstance(kernel, Repeat):
        return replace(kernel, condition=programs[0], body=programs[1])
    return replace(kernel, branches=programs) if isinstance(kernel, Choose) else kernel


def with_equations_in(kernel: Kernel, places: Mapping[str, str]) -> Kernel:
    """Return a kernel whose equations name the arrays `places[a]` too, in which that is now what `a` was."""
    equations = [equation.in_places(places) for equation in kernel.equations]
    if all(new is old for new, old in zip(equations, kernel.equations, strict=True)):
        return kernel
    return told(kernel, equations=equations)


KernelT = TypeVar("KernelT", bound=Kernel)


def told(kernel: KernelT, **changes: Any) -> KernelT:
    """Return a kernel of which something else is told: its statements are the same, and so is what they touch."""
    result = replace(kernel, **changes)
    found = kernel.__dict__
    result.__dict__.update((name, found[name]) for name in ("accesses", "contents", "statements") if name in found)
    return result


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
