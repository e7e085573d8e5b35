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
from tinytrace.codegen.passes.strips import fresh_name, from_zero, without_variables
from tinytrace.core.dtypes import is_half


def rows_of(loop: For, held: Sequence[Buffer] = ()) -> list[Stmt]:
    """Return the body of a loop over rows as `RowStrip` takes it; nothing if it is no such loop.

    Loops over the elements of a row have no variables of their own; what is not fixed is folded in one of them; and
    nothing reads what the loop stores, for a strip stores rows before others are read; but what is `held` for one row.
    """
    body: list[Stmt] = []
    for stmt in loop.body:
        if isinstance(stmt, For):
            row = from_zero(stmt)
            plain = without_variables(row.body) if row is not None and row.simd else []
            if row is None or not plain:
                return []
            body.append(with_body(row, plain))
        elif isinstance(stmt, (Declare, Store)):
            body.append(stmt)
        else:
            return []
    folded = [stmt.place for row in body if isinstance(row, For) for stmt in row.body if isinstance(stmt, Combine)]
    begun = {stmt.local for stmt in body if isinstance(stmt, Declare) and not stmt.fixed}
    if len(folded) != len(begun) or set(folded) != begun:
        return []
    places = [stmt.place for stmt in nested(body) if isinstance(stmt, Store)]
    stored = {place[0].name for place in places if isinstance(place, tuple) and place[0] not in held}
    nodes = walk(root for stmt in nested(body) for root in expressions(stmt))
    return body if all(isinstance(place, tuple) for place in places) and not any(
        node.op == "load" and node.args[0].name in stored for node in nodes) else []


class RowStrip(ABC):
    """The loops over a strip of rows.

    Args:
      body: that of a loop over rows (`rows_of`).
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
