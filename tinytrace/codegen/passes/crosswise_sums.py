"""Short rows of floats are summed four at a time: vectors of a row each become one vector of sums.

    for i < 16: { s = 0;  for j < 32 simd: s += exp(x[32 i + j]);  y[i] = s }

is    for i < 16: for j < 32 simd: s_terms[32 i + j] = exp(x[32 i + j])
      s_rows = the sums of the 16 rows of s_terms        (csrc/math/row_sums.h)
      for i < 16 simd: y[i] = s_rows[i]

At the end of each row compilers add the lanes of a vector one after the other, 16 with AVX-512: of rows of 32 that is
most of the time. Halves of vectors added up, and four rows crosswise then, take a third of the operations. Rows that
lie in memory are read there, without terms; so are two whose products are added up. Maxima are left: of those
compilers fold halves.

A row has the same sum wherever it lies: what is left after the last four rows is added up in the same order.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.arithmetic import linear, rebuild, stride_along
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, literal, load, number, rewrite, walk
from tinytrace.codegen.ir.procedures import add_rows, dot_rows
from tinytrace.codegen.ir.programs import map_bodies
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
)
from tinytrace.codegen.passes.row_strips import RowStrip, rows_of
from tinytrace.codegen.passes.strips import fresh_name, from_zero, map_loops
from tinytrace.core.dtypes import FLOAT32, is_complex, is_half

FEWEST = 8
"""Rows that are worth it."""
SHORT, SHORT_IN_MEMORY, SHORT_AND_STORED = range(8, 49), range(8, 257), range(8, 65)
"""Elements of a row: of one whose terms are computed first, of one that is read where it lies, and of one beside which
rows are stored, which other rows meanwhile push out of the nearest cache."""
ROWS = 16
"""Rows of a strip."""


def sum_rows_crosswise(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program that sums many short rows at once."""
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
    body = rows_of(whole)
    if not _are_sums(body, whole.axis) or not _are_plain(body):
        return []
    strips, left = divmod(int(whole.axis.args[1]), ROWS)
    name = str(whole.axis.args[0])
    strip = axis(fresh_name(f"{name}_sums", taken), strips)

    def rows(count: int, begin: int, terms: Sequence[tuple[Node, int]]) -> list[Stmt]:
        lane = axis(name, count)
        moved = Replacement({whole.axis: linear(begin, [*terms, (lane, 1)])}).of(body)
        return list(_Strip(moved, lane, count, taken).statements())

    result: list[Stmt] = []
    if strips:
        grain = min(strips, -(-whole.grain // ROWS))
        result.append(For(strip, number(0), number(strips), rows(ROWS, 0, [(strip, ROWS)]), False, True, grain))
    return [*result, *rows(left, strips * ROWS, [])] if left else result


def _are_sums(body: Sequence[Stmt], lane: Node) -> bool:
    """Is all that the loops fold sums of floats from 0, of short rows?"""
    begun = {stmt.local: stmt.value for stmt in body if isinstance(stmt, Declare) and not stmt.fixed}
    folds = [(stmt, row.axis) for row in body if isinstance(row, For) for stmt in row.body if isinstance(stmt, Combine)]
    are_stored = any(isinstance(stmt, Store) for row in body if isinstance(row, For) for stmt in row.body)
    in_memory = SHORT_AND_STORED if are_stored else SHORT_IN_MEMORY
    return bool(folds) and all(
        fold.op == "sum" and fold.value.dtype == FLOAT32 and begun[fold.place] == literal(0, FLOAT32)  # type: ignore[index]
        and int(j.args[1]) in (in_memory if _in_memory(fold.value, lane, j) else SHORT) for fold, j in folds)


def _are_plain(body: Sequence[Stmt]) -> bool:
    """Is everything kept as it is computed: no two-byte floats, and no variables that are complex or places?"""
    nodes = walk(root for stmt in nested(body) for root in expressions(stmt))
    kept = [stmt.local for stmt in body if isinstance(stmt, Declare)]
    return all(node.dtype is not None and not is_complex(node.dtype) for node in kept) and not any(
        node.dtype is not None and is_half(node.dtype) for node in nodes)


Lying = tuple[Buffer, Node, int]
"""An array, the place of a row in it, and how far apart rows begin."""


def _in_memory(value: Node, lane: Node, j: Node) -> list[Lying]:
    """Return where rows lie whose elements are added up, or two whose products are; nothing if it is something else."""
    factors = value.args[0].factors if value.op == "apply" else None
    operands = [value.children[k] for k in factors] if factors is not None else [value]
    found: list[Lying] = []
    for node in operands:
        distance = stride_along(node.args[1], lane) if node.op == "load" and node.dtype == FLOAT32 else None
        if distance is None or stride_along(node.args[1], j) != 1:
            return []
        at, = rewrite([node.args[1]], {lane: number(0), j: number(0)}, rebuild)
        found.append((node.args[0], at, distance))
    return found


class _Strip(RowStrip):
    """The loops over a strip of rows, each row an inner loop."""

    def _of_elements(self, loop: For) -> Iterator[Stmt]:
        length = int(loop.axis.args[1])
        inside: list[Stmt] = []
        sums: list[Stmt] = []
        for stmt in loop.body:
            assert isinstance(stmt, (Store, Combine))
            value, = rewrite([stmt.value], self.known, rebuild)
            if isinstance(stmt, Store):
                inside.append(Store(stmt.place, value, stmt.eqns))
                continue
            assert isinstance(stmt.place, Node)
            name = str(stmt.place.args[0])
            found = _in_memory(value, self.lane, loop.axis)
            if not found:
                terms = self._row(value, f"{name}_terms", self.size * length)
                yield Row(terms)
                inside.append(Store((terms, linear(0, [(self.lane, length), (loop.axis, 1)])), value))
                found = [(terms, number(0), length)]
            row = self._row(stmt.place, f"{name}_rows", self.size)
            yield Row(row)
            distances = [distance for _, _, distance in found]
            procedure = (add_rows if len(found) == 1 else dot_rows)(self.size, length, *distances)
            places = {name: (source, at) for name, (source, at, _) in zip("xy", found, strict=False)}
            sums.append(Call(procedure, {"to": (row, number(0)), **places}, ("to",)))
            self.known[stmt.place] = load(row, self.lane, row.dtype)
        if inside:
            each_row = For(loop.axis, number(0), number(length), inside, True, True)
            yield For(self.lane, number(0), number(self.size), [each_row], independent=True)
        yield from sums
