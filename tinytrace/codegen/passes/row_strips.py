"""Loops over rows in strips: what a row has once is kept in arrays on the stack, an element for each row.

    for i: { s = 0;  for j: s += x[i, j];  m = s / 4;  for j: y[i, j] = x[i, j] - m }

is, for each strip of rows,    s_rows[i] = the folds of its rows, as those who make the strip fold them
                               for i simd: m_rows[i] = s_rows[i] / 4
                               the stores of its rows, which read m_rows[i]
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.arithmetic import rebuild
from tinytrace.codegen.ir.nodes import Node, load, number, rewrite, walk
from tinytrace.codegen.ir.procedures import round_halves
from tinytrace.codegen.ir.statements import Buffer, Call, Declare, For, Row, Stmt, Store, expressions, nested
from tinytrace.codegen.passes.strips import fresh_name
from tinytrace.core.dtypes import is_half


class RowStrip(ABC):
    """The loops over a strip of rows.

    Args:
      body: declarations, stores to arrays, and loops over the elements of a row, of stores and folds alone.
      lane: the variable of the loop over the rows of the strip.
      size: how many there are.
      taken: the names of arrays on the stack.
    """

    def __init__(self, body: Sequence[Stmt], lane: Node, size: int, taken: set[str]) -> None:
        self.body = body
        self.lane = lane
        self.size = size
        self.taken = taken
        self.begins: dict[Node, Node] = {}
        """What the variables are at first into which a row is folded."""
        self.known: dict[Node, Node] = {}
        """Where the variables of each row are kept."""

    def statements(self) -> Iterator[Stmt]:
        """Yield the loops, each behind the rows that it fills."""
        once: list[Declare | Store] = []
        for k, stmt in enumerate(self.body):
            if isinstance(stmt, Declare) and not stmt.fixed:
                self.begins[stmt.local] = stmt.value
            elif isinstance(stmt, For):
                yield from self._of_each_row(once, self.body[k:])
                once = []
                yield from self._of_elements(stmt)
            elif isinstance(stmt, (Declare, Store)):
                once.append(stmt)
        yield from self._of_each_row(once, [])

    def _of_each_row(self, body: Sequence[Declare | Store], later: Sequence[Stmt]) -> Iterator[Stmt]:
        """Yield a loop that computes what a row has once, and keeps what is read `later`."""
        read = set(walk(root for stmt in nested(later) for root in expressions(stmt)))
        inside: list[Stmt] = []
        variables: dict[Node, Node] = {}
        for stmt in body:
            value, = rewrite([stmt.value], {**self.known, **variables}, rebuild)
            if isinstance(stmt, Store):
                inside.append(Store(stmt.place, value, stmt.eqns))
                continue
            variables[stmt.local] = value
            if stmt.local in read:
                row = self._row(stmt.local, f"{stmt.local.args[0]}_rows", self.size)
                yield Row(row)
                inside.append(Store((row, self.lane), value))
                self.known[stmt.local] = load(row, self.lane, row.dtype)
        if inside:
            yield For(self.lane, number(0), number(self.size), inside, True, True)
            yield from roundings(inside)

    @abstractmethod
    def _of_elements(self, loop: For) -> Iterator[Stmt]:
        """Yield the loops over the elements of the rows, which are folded then: `known` says where."""

    def _row(self, node: Node, wish: str, size: int) -> Buffer:
        assert node.dtype is not None
        return Buffer(fresh_name(wish, self.taken), (size,), node.dtype, "row", wide=is_half(node.dtype))


def roundings(stored: Sequence[Stmt]) -> Iterator[Stmt]:
    """Yield what rounds the wide rows in which results were stored: a store leaves that to a call."""
    for stmt in stored:
        if isinstance(stmt, Store) and isinstance(stmt.place, tuple) and stmt.place[0].wide and stmt.value.op != "load":
            row = stmt.place[0]
            yield Call(round_halves(row.size, row.dtype), {"strip": (row, number(0))}, ("strip",))
