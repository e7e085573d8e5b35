"""Short rows of floats are folded four at a time: vectors of a row each become one vector of sums, or of maxima.

    for i < 16: { s = 0;  for j < 32 simd: s += exp(x[32 i + j]);  y[i] = s }

is    for i < 16: for j < 32 simd: s_terms[32 i + j] = exp(x[32 i + j])
      s_rows = the sums of the 16 rows of s_terms        (csrc/math/row_sums.h)
      for i < 16 simd: y[i] = s_rows[i]

At the end of each row compilers add the lanes of a vector one after the other, 16 with AVX-512: of rows of 32 that is
most of the time. Halves of vectors added up, and four rows crosswise then, take a third of the operations. Rows that
lie in memory are read there, without terms; so are two whose products are added up.

Maxima are folded so, of numbers alone: a sum of the same elements is NaN where one of them is, and then the four rows
are read again (csrc/math/row_extremes.h). A variable that knows of NaN takes a comparison for each element.

What is dear is computed of all rows of a strip as of one long row, where a row is no whole vectors:

    for i < 16: for j < 20 simd: s_terms[20 i + j] = x[i, j] - m_rows[i]
    for k < 320 simd: s_terms[k] = exp(s_terms[k])

A row has the same sum wherever it lies: what is left after the last four rows is added up in the same order.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tinytrace.codegen.ir.arithmetic import linear, rebuild, stride_along
from tinytrace.codegen.ir.cost import DIVISION, is_dear, steps
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, apply, axis, literal, load, number, rewrite, walk
from tinytrace.codegen.ir.procedures import dot_rows, fold_rows
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.reductions import identity
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Combine,
    Declare,
    For,
    Row,
    Stmt,
    Store,
    expressions,
    nested,
    with_body,
)
from tinytrace.codegen.passes.row_strips import RowStrip, rows_of
from tinytrace.codegen.passes.strips import fresh_name, from_zero, map_loops
from tinytrace.core.dtypes import FLOAT32, is_complex, is_half
from tinytrace.records import replace

FEWEST = 8
"""Rows that are worth it."""
SHORT, SHORT_IN_MEMORY, SHORT_AND_STORED = range(8, 49), range(8, 257), range(8, 65)
"""Elements of a row: of one whose terms are computed first, of one that is read where it lies, and of one beside which
rows are stored, which other rows meanwhile push out of the nearest cache."""
SHORT_AND_DEAR = range(8, 128)
"""Elements of a row whose terms take long, or are made of memory as of one long row; or of which the extreme is, in
memory: longer ones fill wider vectors."""
VECTOR, HALF = 16, 8
"""Elements of the widest vectors, of rows that have a multiple of so many nothing is left over; and of other ones."""
EXTREMES = ("max", "min")
ROWS = 16
"""Rows of a strip."""


def fold_rows_crosswise(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program that folds many short rows at once."""
    taken: set[str] = set()

    def changed(body: Sequence[Stmt]) -> list[Stmt]:
        taken.update(stmt.buffer.name for stmt in nested(body) if isinstance(stmt, Row))
        return map_loops(body, lambda loop: _crosswise(loop, taken))

    return map_bodies(kernels, changed, keep_titles=True, about=lambda found: bool(found.variables))


def _crosswise(loop: For, taken: set[str]) -> list[Stmt]:
    """Return a loop over rows as one over strips of rows; nothing if it is none, or if its rows are no such rows."""
    whole = from_zero(loop)
    if whole is None or not whole.independent or whole.simd or int(whole.axis.args[1]) < FEWEST:
        return []
    held = [stmt.buffer for stmt in whole.body if isinstance(stmt, Row)]
    body = rows_of(with_body(whole, [stmt for stmt in whole.body if not isinstance(stmt, Row)]), held)
    if not _are_folds(body, whole.axis) or not _are_plain(body):
        return []
    strips, left = divmod(int(whole.axis.args[1]), ROWS)
    name = str(whole.axis.args[0])
    strip = axis(fresh_name(f"{name}_sums", taken), strips)

    def rows(count: int, begin: int, terms: Sequence[tuple[Node, int]]) -> list[Stmt]:
        lane = axis(name, count)
        moved = Replacement({whole.axis: linear(begin, [*terms, (lane, 1)])}).of(body)
        return list(_Strip(moved, lane, count, taken, held).statements())

    result: list[Stmt] = []
    if strips:
        grain = min(strips, -(-whole.grain // ROWS))
        result.append(For(strip, number(0), number(strips), rows(ROWS, 0, [(strip, ROWS)]), False, True, grain))
    return [*result, *rows(left, strips * ROWS, [])] if left else result


def _are_folds(body: Sequence[Stmt], lane: Node) -> bool:
    """Is all that the loops fold sums and extremes of floats, from the beginning, of short rows?"""
    begun = {stmt.local: stmt.value for stmt in body if isinstance(stmt, Declare) and not stmt.fixed}
    rows = [row for row in body if isinstance(row, For)]
    folds = [(stmt, row) for row in rows for stmt in row.body if isinstance(stmt, Combine)]
    dear = any(is_dear(node.args[0]) for row in rows for stmt in row.body for node in walk(expressions(stmt))
               if node.op == "apply" and row.axis in node.axes)
    stored = any(isinstance(stmt, Store) for row in rows for stmt in row.body)
    several = sum(fold.op != "or" for fold, _ in folds) > 1

    def is_short(fold: Combine, j: Node) -> bool:
        is_sum, in_memory = fold.op == "sum", bool(_lying(fold, fold.value, lane, j))
        leaves_over = several and int(j.args[1]) % HALF > 0  # each fold takes that one by one
        if dear or (stored and leaves_over):
            lengths = SHORT_AND_DEAR
        elif stored:
            lengths = SHORT_AND_STORED if is_sum and in_memory else SHORT
            return int(j.args[1]) in lengths and (is_sum or int(j.args[1]) % VECTOR > 0)  # else they are in registers
        elif in_memory:
            lengths = SHORT_IN_MEMORY if is_sum else SHORT_AND_DEAR
        else:
            lengths = SHORT if _as_one(fold.value, lane, j, j) is None else SHORT_AND_DEAR
        return int(j.args[1]) in lengths

    return bool(folds) and all(
        _begins_empty(fold, begun) and (_extreme_of_flag(fold, row) is not None or (
            fold.op in ("sum", *EXTREMES) and fold.value.dtype == FLOAT32 and is_short(fold, row.axis)))
        for fold, row in folds)


def _begins_empty(fold: Combine, begun: Mapping[Node, Node]) -> bool:
    dtype = fold.value.dtype
    return dtype is not None and isinstance(fold.place, Node) \
        and begun[fold.place] == literal(identity(fold.op, dtype), dtype)


def _extreme_of_flag(flag: Combine, row: For) -> Combine | None:
    """Return the extreme beside which a loop asks whether there is a NaN; None for other folds."""
    if flag.op != "or" or flag.value.op != "apply" or flag.value.args[0].name != "is_nan":
        return None
    return next((stmt for stmt in row.body if isinstance(stmt, Combine) and stmt.op in EXTREMES
                 and stmt.value is flag.value.args[1]), None)


def _are_plain(body: Sequence[Stmt]) -> bool:
    """Is everything kept as it is computed: no two-byte floats, and no variables that are complex or places?"""
    nodes = walk(root for stmt in nested(body) for root in expressions(stmt))
    kept = [stmt.local for stmt in body if isinstance(stmt, Declare)]
    return all(node.dtype is not None and not is_complex(node.dtype) for node in kept) and not any(
        node.dtype is not None and is_half(node.dtype) for node in nodes)


Lying = tuple[Buffer, Node, int]
"""An array, the place of a row in it, and how far apart rows begin."""


def _lying(fold: Combine, value: Node, lane: Node, j: Node) -> list[Lying]:
    """Return where rows lie whose elements are folded, or two whose products are added up; nothing for others."""
    factors = value.args[0].factors if value.op == "apply" and fold.op == "sum" else None
    operands = [value.children[k] for k in factors] if factors is not None else [value]
    found: list[Lying] = []
    for node in operands:
        distance = stride_along(node.args[1], lane) if node.op == "load" and node.dtype == FLOAT32 else None
        if distance is None or stride_along(node.args[1], j) != 1:
            return []
        at, = rewrite([node.args[1]], {lane: number(0), j: number(0)}, rebuild)
        found.append((node.args[0], at, distance))
    return found


def _keeps_what_it_reads(stores: Sequence[Stmt]) -> bool:
    """Can elements be computed twice?"""
    nodes = walk(root for stmt in stores for root in expressions(stmt))
    stored = {stmt.place[0] for stmt in stores if isinstance(stmt, Store) and isinstance(stmt.place, tuple)}
    return stored.isdisjoint(node.args[0] for node in nodes if node.op == "load")


def _as_one(value: Node, lane: Node, j: Node, element: Node) -> Node | None:
    """Return a value at an element of all rows as of one; None if rows do not lie one behind another."""
    own = {lane, j}
    changed: dict[Node, Node] = {}
    for node in walk([value]):
        if node.op == "load" and not node.axes.isdisjoint(own):
            if stride_along(node.args[1], j) != 1 or stride_along(node.args[1], lane) != j.args[1]:
                return None
            at, = rewrite([node.args[1]], dict.fromkeys(own, number(0)), rebuild)
            assert node.dtype is not None
            changed[node] = load(node.args[0], linear(0, [(at, 1), (element, 1)]), node.dtype)
    whole, = rewrite([value], changed, rebuild)
    return whole if changed and whole.axes.isdisjoint(own - {element}) else None


class _Strip(RowStrip):
    """The loops over a strip of rows, each row an inner loop."""

    def __init__(self, body: Sequence[Stmt], lane: Node, size: int, taken: set[str], held: Sequence[Buffer]) -> None:
        """Args: held: the arrays in which elements of a row wait for later loops: each row has its own."""
        super().__init__(body, lane, size, taken)
        self.once: dict[Node, Node] = {}
        """Where what is dear for a row is."""
        self.long: dict[Node, Node] = {}
        """Where dear values are, each computed of all rows as of one."""
        self.held = {buffer: replace(buffer, name=fresh_name(buffer.name, taken), shape=(size, *buffer.shape))
                     for buffer in held}
        for node in walk(root for stmt in nested(body) for root in expressions(stmt)):
            if node.op == "load" and node.args[0] in self.held:
                self.known[node] = load(*self._own(*node.args[:2]), node.dtype)  # type: ignore[arg-type]

    def _own(self, buffer: Buffer, offset: Node) -> tuple[Buffer, Node]:
        """Return where the place of a row is, among those of all rows of the strip."""
        if buffer not in self.held:
            return buffer, offset
        return self.held[buffer], linear(0, [(self.lane, buffer.size), (offset, 1)])

    def _of_elements(self, loop: For) -> Iterator[Stmt]:
        inside: list[Stmt] = []
        folds: list[Stmt] = []
        lying: dict[Node, Buffer] = {}
        for stmt in loop.body:
            assert isinstance(stmt, (Store, Combine))
            value, = rewrite([stmt.value], self.known, rebuild)
            yield from self._once_a_row(value, loop.axis)
            value, = rewrite([value], self.once, rebuild)
            if int(loop.axis.args[1]) % VECTOR:
                yield from self._as_one_row(value, loop.axis)
                value, = rewrite([value], self.long, rebuild)
            if isinstance(stmt, Store):
                assert isinstance(stmt.place, tuple)
                buffer, offset = stmt.place
                if buffer in self.held and offset is loop.axis:
                    if value in self.long.values():
                        self._keep_there(buffer, value.args[0])
                        continue
                    lying[value] = self.held[buffer]
                if buffer in self.held:
                    yield Row(self.held[buffer])
                inside.append(Store(self._own(buffer, offset), value, stmt.eqns))
                continue
            assert isinstance(stmt.place, Node)
            extreme = _extreme_of_flag(stmt, loop)
            if extreme is not None:
                self.known[stmt.place] = apply(stmt.value.args[0], (self.known[extreme.place],))  # type: ignore[index]
                continue
            found = _lying(stmt, value, self.lane, loop.axis)
            if not found:
                if value in self.long.values():
                    lying[value] = value.args[0]
                elif value not in lying:
                    yield from self._terms(stmt.place, value, loop.axis, inside, lying)
                found = [(lying[value], number(0), int(loop.axis.args[1]))]
            row = self._row(stmt.place, f"{stmt.place.args[0]}_rows", self.size)
            yield Row(row)
            folds.append(self._fold(stmt.op, row, int(loop.axis.args[1]), found))
            self.known[stmt.place] = load(row, self.lane, row.dtype)
        yield from self._each_row(loop.axis, inside)
        yield from folds

    def _once_a_row(self, value: Node, j: Node) -> Iterator[Stmt]:
        """Yield the loops over rows of what is dear and the same for all elements of a row: roots, quotients."""
        pending, found = [value], dict[Node, None]()
        while pending:
            node = pending.pop()
            of_row = node.op == "apply" and self.lane in node.axes and j not in node.axes and node.dtype is not None
            if of_row and any(x.op == "apply" and steps(x.args[0]) >= DIVISION for x in walk([node])):
                found[node] = None
            elif j in node.axes:
                pending += node.children
        for node in (node for node in found if node not in self.once):
            row = self._row(node, f"{node.hint or 'value'}_once", self.size)
            yield Row(row)
            yield For(self.lane, number(0), number(self.size), [Store((row, self.lane), node, node.eqns)], True, True)
            self.once[node] = load(row, self.lane, row.dtype)

    def _keep_there(self, buffer: Buffer, row: Buffer) -> None:
        """Let what is held of each row be where it was computed."""
        held = self.held.pop(buffer)
        for node, there in self.known.items():
            if there.op == "load" and there.args[0] is held:
                self.known[node] = load(row, there.args[1], row.dtype)

    def _each_row(self, j: Node, inside: Sequence[Stmt]) -> Iterator[Stmt]:
        """Yield the loop over rows; the last vector of a row takes some elements in again, if none is overwritten.

        Compilers compute one by one what is no half of a vector.
        """
        length, inner = int(j.args[1]), list(inside)
        loops: list[Stmt] = [For(j, number(0), number(length), inner, True, True)]
        if length > VECTOR and length % HALF and _keeps_what_it_reads(inside):
            whole, last = axis(str(j.args[0]), length // VECTOR * VECTOR), axis(str(j.args[0]), VECTOR)
            loops = [For(part, number(0), number(part.args[1]),
                         Replacement({j: linear(begin, [(part, 1)])}).of(inner), True, True)
                     for part, begin in ((whole, 0), (last, length - VECTOR))]
        if inside:
            yield For(self.lane, number(0), number(self.size), loops, independent=True)

    def _as_one_row(self, value: Node, j: Node) -> Iterator[Stmt]:
        """Yield the loops over all elements of a strip that compute what is dear of a value, the innermost first."""
        for node in walk([value]):
            if node.op != "apply" or not is_dear(node.args[0]) or not {self.lane, j} <= node.axes or node in self.long:
                continue
            of = [child for child in node.children if not child.axes.isdisjoint({self.lane, j})]
            if len(of) == 1 and of[0].dtype == node.dtype:
                of_row, = rewrite(of, self.long, rebuild)
                row, place, element = self._long_row(node, f"{node.hint or 'value'}_long", j)
                yield Row(row)
                whole = _as_one(of_row, self.lane, j, element)
                if whole is None:
                    yield from self._each_row(j, [Store((row, place), of_row)])
                    whole = load(row, element, row.dtype)
                dear = apply(node.args[0], tuple(whole if child is of[0] else child for child in node.children))
                yield For(element, number(0), number(row.size), [Store((row, element), dear, node.eqns)], True, True)
                self.long[node] = load(row, place, row.dtype)

    def _long_row(self, value: Node, wish: str, j: Node) -> tuple[Buffer, Node, Node]:
        """Return an array of an element for each of a strip, its place, and the axis of all of them."""
        length = int(j.args[1])
        row = self._row(value, wish, self.size * length)
        return row, linear(0, [(self.lane, length), (j, 1)]), axis(f"{self.lane.args[0]}_element", row.size)

    def _terms(self, place: Node, value: Node, j: Node, inside: list[Stmt],
               lying: dict[Node, Buffer]) -> Iterator[Stmt]:
        """Yield the array in which terms are stored before they are folded, and the loop if it is one of its own."""
        terms, at, element = self._long_row(value, f"{place.args[0]}_terms", j)
        yield Row(terms)
        whole = _as_one(value, self.lane, j, element)
        if whole is None or int(j.args[1]) <= HALF or int(j.args[1]) % VECTOR == 0:
            inside.append(Store((terms, at), value))
        else:
            yield For(element, number(0), number(terms.size), [Store((terms, element), whole)], True, True)
        lying[value] = terms

    def _fold(self, op: str, row: Buffer, length: int, found: Sequence[Lying]) -> Call:
        """Return the fold of rows that lie in memory, to an array."""
        distances = [distance for _, _, distance in found]
        procedure = dot_rows(self.size, length, *distances) if len(found) == 2 \
            else fold_rows(op, self.size, length, *distances)
        places = {name: (source, at) for name, (source, at, _) in zip("xy", found, strict=False)}
        return Call(procedure, {"to": (row, number(0)), **places}, ("to",), flops=len(found) * self.size * length)
