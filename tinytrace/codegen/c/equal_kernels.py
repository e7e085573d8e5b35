"""Kernels that differ in their arrays alone: they are one C function, which is compiled once.

    for i: y1[i] = tanh(x1[i] + b1[i])        void tt_kernel_0(const float *x1, const float *b1, float *y1)
    for i: y2[i] = tanh(x2[i] + b2[i])        tt_kernel_0(x1, b1, y1);  tt_kernel_0(x2, b2, y2);

A compiler takes milliseconds for a vectorised loop, so twenty equal layers should cost it what one does.

Two lists of statements are equal if they are the same when arrays and variables are called by numbers, in the order in
which they occur. Nothing else of an array is looked at but its element type: its length stands in the loops.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinytrace.codegen.ir.kernel import Choose, Kernel, Nest, Renamed, Repeat, inner_programs
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.renaming import Renaming
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Combine,
    Declare,
    Either,
    For,
    Inclusive,
    Place,
    Row,
    Stmt,
    Store,
    When,
    expressions,
)
from tinytrace.records import dataclass, replace
from tinytrace.util import lazy

FEWEST = 3
"""So many equal kernels become a function: of two, each is better off where it is, its arrays known by name."""
MANY = 16
"""In a program of so many loops every kernel is a function: compilers take long functions badly, and two of them take
half of the functions each (`split_compile.py`)."""
LARGE = 10_000
"""Operations, or elements moved, of a kernel in a loop or a branch from which on a call of it costs nothing. Smaller
ones stay where they are: what one leaves in registers the next one finds there."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Statements with numbers for names."""

    key: tuple[Any, ...]
    """Equal for statements that are."""
    result: Node | None
    """The variable of theirs that other kernels read, if there is one."""
    eqns_of_form: tuple[frozenset[int], ...]
    renaming: Renaming | None = None
    """What makes of these equations those of the statements."""
    are_apart: bool = True
    """Are its arrays known to be different ones? In a loop a pointer may have come to where another one points."""

    @lazy
    def eqns(self) -> tuple[frozenset[int], ...]:
        """The ids of the equations of their parts, in the same order for all that are equal."""
        return self.eqns_of_form if self.renaming is None else tuple(map(self.renaming.ids, self.eqns_of_form))


class Counterparts(Mapping[int, frozenset[int]]):
    """For each equation of statements what it is among those of equal ones; found when somebody asks."""

    def __init__(self, first: Pattern) -> None:
        self._first = first
        self.others: list[Pattern] = []

    def add(self, other: Pattern) -> None:
        """Let `other` be one of the equal ones."""
        self.others.append(other)

    @lazy
    def _found(self) -> dict[int, frozenset[int]]:
        found: dict[int, set[int]] = {}
        for other in self.others:
            for own, others in zip(self._first.eqns, other.eqns, strict=True):
                if len(own) == len(others):
                    for k, j in zip(sorted(own), sorted(others), strict=True):
                        found.setdefault(k, set()).add(j)
                else:
                    for k in own:
                        found.setdefault(k, set()).update(others)
        return {k: frozenset(others) for k, others in found.items()}

    def __getitem__(self, k: int) -> frozenset[int]:
        return self._found[k]

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def repeated(kernels: Sequence[Kernel]) -> dict[Nest, Pattern]:
    """Return the kernels of a program that become functions, with their patterns.

    They do so because several are equal, or because the program is long; then kernels in its loops do so too.
    """
    nests = [kernel for kernel in kernels if isinstance(kernel, Nest) and _runs_on_this_thread(kernel)]
    inner = [nest for nest in _inner_nests(kernels) if _runs_on_this_thread(nest)]
    if sum(isinstance(stmt, For) for nest in (*nests, *inner) for stmt in nest.form.statements) >= MANY:
        inside = _patterns([nest for nest in inner if _is_large(nest)], kernels)
        return _patterns(nests, kernels) | {
            nest: replace(found, key=(*found.key, "inside"), are_apart=False) for nest, found in inside.items()}
    alike = Counter(map(_outline, nests))
    patterns = _patterns([nest for nest in nests if alike[_outline(nest)] >= FEWEST], kernels)
    counts = Counter(found.key for found in patterns.values())
    return {nest: found for nest, found in patterns.items() if counts[found.key] >= FEWEST}


def _patterns(nests: Sequence[Nest], kernels: Sequence[Kernel]) -> dict[Nest, Pattern]:
    """Return the patterns of nests of a program, of those that can be functions: they give one result at most."""
    results = _results(nests, kernels)
    known: dict[tuple[Nest, Node | None], Pattern] = {}
    return {nest: _pattern(nest, results[nest][0] if results[nest] else None, known)
            for nest in nests if len(results[nest]) < 2}


def _is_large(nest: Nest) -> bool:
    return max(nest.flops, (nest.bytes_read + nest.bytes_written) // 4) >= LARGE


def _inner_nests(kernels: Sequence[Kernel]) -> Iterator[Nest]:
    """Yield the nests of loops and branches that no threads share."""
    for kernel in kernels:
        if isinstance(kernel, Nest) or (isinstance(kernel, Repeat) and kernel.grain):
            continue
        for program in inner_programs(kernel):
            yield from (inner for inner in program if isinstance(inner, Nest))
            yield from _inner_nests(program)


def distinct(kernels: Sequence[Kernel], functions: Mapping[Nest, Pattern]) -> list[Kernel]:
    """Return the first of equal kernels each, and those that do not become functions."""
    keys: set[tuple[Any, ...]] = set()
    found: list[Kernel] = []
    for kernel in kernels:
        key = functions[kernel].key if isinstance(kernel, Nest) and kernel in functions else None
        if key not in keys:
            found.append(kernel)
        keys.update([key] if key is not None else [])
    return found


def _runs_on_this_thread(nest: Nest) -> bool:
    """Is a kernel made of loops, and of the variables that they fold into?"""
    nest = nest.form
    kinds = set(map(type, nest.body))
    return For in kinds and kinds <= {For, Row, Declare, Store, Combine} and not any(
        (isinstance(stmt, Call) and (stmt.procedure.uses_host or stmt.procedure.failure or stmt.then is not None))
        or (isinstance(stmt, For) and stmt.grain) for stmt in nest.statements)


def _results(nests: Sequence[Nest], kernels: Sequence[Kernel]) -> dict[Nest, list[Node]]:
    """Return for each of these kernels of a program its variables that other kernels read."""
    own = {nest: [_here(nest, stmt.local) for stmt in nest.form.body if isinstance(stmt, Declare)] for nest in nests}
    read = _variables_read(kernels) if any(own.values()) else set()
    return {nest: [x for x in variables if x in read] for nest, variables in own.items()}


def _variables_read(kernels: Sequence[Kernel]) -> set[Node]:
    """Return the variables that kernels read and do not declare themselves."""
    found: set[Node] = set()
    for kernel in kernels:
        roots: list[Node] = []
        match kernel:
            case Nest():
                found.update(kernel.captured[1])
            case Choose(index=Node() as index):
                roots = [index]
            case Repeat(wanted=Node() as wanted):
                roots = [wanted]
        found.update(node for node in walk(roots) if node.op == "local")
        for program in inner_programs(kernel):
            found |= _variables_read(program)
    return found


def _here(nest: Nest, x: Node) -> Node:
    """Return what stands in a nest for a variable of its form."""
    return nest.body.renaming.variable(x) if isinstance(nest.body, Renamed) else x


def _outline(nest: Nest) -> tuple[int, ...]:
    """Return what equal kernels have in common and is quickly found."""
    return len(nest.equations), *(stmt.axis.args[1] if isinstance(stmt, For) else 0 for stmt in nest.form.body)


def _pattern(nest: Nest, result: Node | None, known: dict[tuple[Nest, Node | None], Pattern]) -> Pattern:
    """Return the pattern of a nest, by that of its form."""
    form, body = nest.form, nest.body
    variables = [stmt.local for stmt in form.body if isinstance(stmt, Declare)] if result is not None else []
    of_form = next((x for x in variables if _here(nest, x) is result), None)
    found = known.get((form, of_form)) or known.setdefault((form, of_form), pattern(form.body, of_form))
    return replace(found, result=result, renaming=body.renaming) if isinstance(body, Renamed) else found


def pattern(body: Sequence[Stmt], result: Node | None = None) -> Pattern:
    """Return statements with numbers for names; result: the variable of theirs that others read."""
    found = _Numbering()
    found.add(body)
    if result is not None:
        found.add_result(result)
    return Pattern(tuple(found.tokens), result, tuple(found.eqns))


class _Numbering:
    """Writes statements down, with numbers for arrays, variables and expressions."""

    def __init__(self) -> None:
        self.tokens: list[Any] = []
        self.eqns: list[frozenset[int]] = []
        self._numbers: dict[object, int] = {}

    def add(self, body: Sequence[Stmt]) -> None:
        for stmt in body:
            self._expressions(expressions(stmt))
            match stmt:
                case For(axis, begin, end, inner):
                    self._token(axis, *map(self._number, (begin, end)), stmt.simd, stmt.independent, stmt.grain,
                                stmt.waits)
                    self._inner(inner)
                case Declare(x, value, fixed):
                    self._token("declare", self._variable(x), self._number(value), fixed)
                    self.eqns.append(x.eqns)
                case Row(buffer):
                    self._token("row", self._array(buffer), buffer.shape)
                case Store(place, value, eqns):
                    self._token("store", self._place(place), self._number(value))
                    self.eqns.append(eqns)
                case Combine(place, op, value):
                    self._token("combine", self._place(place), op, self._number(value))
                case Either(feature, first, second):
                    self._token("either", feature)
                    self._inner(first)
                    self._inner(second)
                case Inclusive(x):
                    self._token("inclusive", self._variable(x))
                case When(guard, inner):
                    self._token("when", self._number(guard))
                    self._inner(inner)
                case Call(procedure, places, written):
                    at = [(name, self._place(place)) for name, place in places.items()]
                    self._token("call", procedure, written, stmt.rows, *at)
                    self._inner([stmt.then] if stmt.then is not None else [])

    def add_result(self, x: Node) -> None:
        self._token("return", self._variable(x))

    def _inner(self, body: Sequence[Stmt]) -> None:
        self.tokens.append("{")
        self.add(body)
        self.tokens.append("}")

    def _token(self, *words: Any) -> None:
        self.tokens.append(words)

    def _expressions(self, roots: Sequence[Node]) -> None:
        for node in walk(roots):
            if node in self._numbers:
                continue
            if node.op == "local":
                token: tuple[Any, ...] = "local", self._variable(node)
            elif node.op == "load":
                token = "load", self._array(node.args[0]), self._number(node.args[1])
            elif node.children:
                token = node.op, node.dtype, *map(self._argument, node.args)
            else:
                token = (node,)  # an axis or a number is the same object everywhere
            self.tokens.append(token)
            self.eqns.append(node.eqns)
            self._number(node)

    def _argument(self, x: Any) -> Any:
        if isinstance(x, Node):
            return self._numbers.get(x, x)  # a constant is no part of a walk
        return tuple(map(self._argument, x)) if type(x) is tuple else x

    def _number(self, x: object) -> int:
        return self._numbers.setdefault(x, len(self._numbers))

    def _variable(self, x: Node) -> tuple[Any, ...]:
        return self._number(str(x.args[0])), x.dtype

    def _array(self, x: Buffer) -> tuple[Any, ...]:
        self.eqns.append(x.eqns)
        return self._number(x), self._number(x.name), x.dtype, x.space == "row", x.wide

    def _place(self, place: Place) -> tuple[Any, ...]:
        if isinstance(place, Node):
            return self._variable(place)
        return *self._array(place[0]), self._number(place[1])
