"""Short rows of two-byte floats are computed as one long row, many rows at a time, and folded row by row between.

    for i: { s = 0;  for j < 6: s += x[6 i + j] * x[6 i + j];  for j < 6: y[6 i + j] = x[6 i + j] / f(s) }

    is    for each strip of 96 i: for k < 576 simd: s_terms[k] = x[.. + k] * x[.. + k]
                                  for i: { s = 0;  for j < 6: s += s_terms[6 i + j];  s_rows[i] = s }
                                  for i simd: f_rows[i] = f(s_rows[i])
                                  for i: for j < 6: f_spread[6 i + j] = f_rows[i]
                                  for k < 576 simd: y[.. + k] = x[.. + k] / f_spread[k]

A conversion to float16 takes nine operations where an element comes by itself, and a row of six is no vector; of the
long loops strips are made (`half_strips.py`), which an instruction converts a vector at a time. What a row has once, or
all rows have, is copied beside the elements. Rows of six to twelve that are normalised take 0.07 to 0.2 of the time,
layer norms 0.12 to 0.2, sums 0.33 to 0.45; of bfloat16 0.25 to 0.45 (Zen 3). Rows of float32 are left: norms gain a
fifth, sums lose as much.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.arithmetic import floordiv, linear, mod, rebuild, stride_along
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, load, number, rewrite, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.statements import (
    Combine,
    Declare,
    For,
    Row,
    Stmt,
    Store,
    expressions,
    nested,
)
from tinytrace.codegen.passes.row_strips import RowStrip, roundings, rows_of
from tinytrace.codegen.passes.strips import from_zero, in_strips, map_loops
from tinytrace.core.dtypes import is_half

FEWEST, ROWS = 64, 96
"""Rows that are worth it; and how many make a strip."""
SHORT = range(3, 32)
"""Elements of a row; longer ones are strips themselves."""


def flatten_short_rows(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program that computes with many short rows of two-byte floats at once."""
    taken: set[str] = set()
    return map_bodies(kernels, lambda body: map_loops(body, lambda loop: _flat(loop, taken)), keep_titles=True)


def _flat(loop: For, taken: set[str]) -> list[Stmt]:
    """Return a loop over rows as one over strips of rows; nothing if it is none, or if its rows are no such rows."""
    whole = from_zero(loop)
    if whole is None or not whole.independent or whole.simd or int(whole.axis.args[1]) < FEWEST:
        return []
    rows = _Rows.of(whole)
    if rows is None:
        return []
    return in_strips(whole, rows.body, ROWS, lambda body, lane, size: list(
        _Strip(body, lane, size, rows.length, taken).statements()))


class _Rows:
    """The body of a loop over rows, and the length of a row."""

    def __init__(self, body: list[Stmt], length: int) -> None:
        self.body = body
        self.length = length

    @staticmethod
    def of(loop: For) -> _Rows | None:
        """Return the rows of a loop; None if it does something else, or converts nothing."""
        body = rows_of(loop)
        inner = [stmt for stmt in body if isinstance(stmt, For)]
        lengths = {int(row.axis.args[1]) for row in inner}
        if len(lengths) != 1 or (length := lengths.pop()) not in SHORT:
            return None
        rows = _Rows(body, length)
        return rows if rows._are_halves(inner) and rows._are_whole(inner, loop.axis) else None

    def _are_halves(self, inner: Sequence[For]) -> bool:
        """Is something folded, and something to convert? Rows that are only mapped are long already."""
        nodes = walk(root for row in inner for stmt in row.body for root in expressions(stmt))
        folds = any(isinstance(stmt, Combine) for row in inner for stmt in row.body)
        return folds and any(node.dtype is not None and is_half(node.dtype) for node in nodes)

    def _are_whole(self, inner: Sequence[For], lane: Node) -> bool:
        """Do rows lie one behind the other, and does nothing ask where it is?"""
        if any(node.op == "where" for node in walk(root for stmt in nested(self.body) for root in expressions(stmt))):
            return False
        for row in inner:
            places = [stmt.place[1] for stmt in row.body if isinstance(stmt, Store) and isinstance(stmt.place, tuple)]
            values = walk(stmt.value for stmt in row.body if isinstance(stmt, (Store, Combine)))
            places += [node.args[1] for node in values if node.op == "load" and {lane, row.axis} <= node.axes]
            if not all(stride_along(place, row.axis) == 1 and stride_along(place, lane) == self.length
                       for place in places):
                return False
            if any(node.op == "cast" and {lane, row.axis} <= node.axes for node in values):
                return False
        return True


class _Strip(RowStrip):
    """The loops over a strip of rows: over all of its elements, or over its rows."""

    def __init__(self, body: Sequence[Stmt], lane: Node, size: int, length: int, taken: set[str]) -> None:
        super().__init__(body, lane, size, taken)
        self.length = length
        self.element = axis(f"{lane.args[0]}_element", size * length)
        self.spread: dict[tuple[Node, Node], Node] = {}
        """Where what a row has once stands beside its elements, and what all rows have."""

    def _of_elements(self, loop: For) -> Iterator[Stmt]:
        """Yield a loop over all elements of the rows, which are folded then."""
        inside: list[Stmt] = []
        folds: list[Stmt] = []
        begins: list[Stmt] = []
        ends: list[Stmt] = []
        place = linear(0, [(self.lane, self.length), (loop.axis, 1)])
        for stmt in loop.body:
            assert isinstance(stmt, (Store, Combine))
            value, = rewrite([stmt.value], self.known, rebuild)
            yield from self._beside_elements(value, loop.axis)
            value = self._at_element(value, loop.axis)
            if isinstance(stmt, Store):
                assert isinstance(stmt.place, tuple)
                inside.append(Store((stmt.place[0], self._at_element(stmt.place[1], loop.axis)), value, stmt.eqns))
                continue
            assert isinstance(stmt.place, Node)
            name = str(stmt.place.args[0])
            terms = self._row(value, f"{name}_terms", self.size * self.length)
            row = self._row(stmt.place, f"{name}_rows", self.size)
            yield from (Row(terms), Row(row))
            inside.append(Store((terms, self.element), value))
            begins.append(Declare(stmt.place, self.begins[stmt.place]))
            folds.append(Combine(stmt.place, stmt.op, load(terms, place, terms.dtype)))
            ends.append(Store((row, self.lane), stmt.place))
            self.known[stmt.place] = load(row, self.lane, row.dtype)
        yield For(self.element, number(0), number(self.size * self.length), inside, True, True)
        yield from roundings(inside)
        if folds:
            row_by_row = For(loop.axis, number(0), number(self.length), folds, True)
            yield For(self.lane, number(0), number(self.size), [*begins, row_by_row, *ends], independent=True)

    def _beside_elements(self, value: Node, column: Node) -> Iterator[Stmt]:
        """Yield what copies beside the elements what they read of their row, or of their column."""
        place = linear(0, [(self.lane, self.length), (column, 1)])
        for node in self._of_one_axis(value, column):
            if (node, column) not in self.spread:
                spread = self._row(node, f"{node.hint or 'value'}_spread", self.size * self.length)
                yield Row(spread)
                copied = Store((spread, place), node)
                if node.op != "load" and self.lane in node.axes:
                    row = self._row(node, f"{node.hint or 'value'}_rows", self.size)
                    kept = Store((row, self.lane), node)
                    yield Row(row)
                    yield For(self.lane, number(0), number(self.size), [kept], True, True)
                    yield from roundings([kept])
                    copied = Store((spread, place), load(row, self.lane, row.dtype))
                copy = For(column, number(0), number(self.length), [copied], True, True)
                yield For(self.lane, number(0), number(self.size), [copy], independent=True)
                yield from roundings([copied])
                self.spread[node, column] = load(spread, self.element, spread.dtype)

    def _of_one_axis(self, value: Node, column: Node) -> list[Node]:
        """Return the largest parts of a value that only its row decides, or only its column."""
        found: list[Node] = []
        pending = [value]
        while pending:
            node = pending.pop()
            across = node.axes & {self.lane, column}
            if node.dtype is not None and len(across) == 1:
                found.append(node)
            elif len(across) == 2 and node.op != "load":
                pending += node.children
        return found

    def _at_element(self, value: Node, column: Node) -> Node:
        """Return a value, or a place, as one of the loop over all elements."""
        spread = {node: there for (node, axis_of), there in self.spread.items() if axis_of is column}
        length = number(self.length)
        axes = {self.lane: floordiv(self.element, length), column: mod(self.element, length)}
        return rewrite([value], {**axes, **spread}, rebuild)[0]
