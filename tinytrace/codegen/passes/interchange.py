"""A loop around an elementwise kernel is interchanged with it: all iterations of one point, its state in registers.

    for k: for i simd: z[i] = f(z[i])    becomes    for block: { load z; for k: for lane: z = f(z); store z }

That holds when the body of the loop is one kernel over one axis, in which every carry is read and written at the point
alone, and scalars that depend on nothing but scalars.
"""
from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from tinytrace.codegen.ir.arithmetic import linear, rebuild
from tinytrace.codegen.ir.kernel import (
    Buffer,
    Declare,
    Exchange,
    For,
    Nest,
    Repeat,
    Row,
    Stmt,
    Store,
    expressions,
    nested,
)
from tinytrace.codegen.ir.nodes import Node, axis, load, number, rewrite, walk
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.schedule.lane_simd import TILE_BYTES, TILE_ROWS

FEWEST_ITERATIONS = 4
"""Shorter loops are left as they are."""


def interchanged(repeat: Repeat, scalars: Sequence[Declare], first: Callable[[Exchange, Node], Node],
               needed: Container[Exchange]) -> list[Stmt] | None:
    """Return the loops over points of a counted loop, if it can be turned.

    scalars: the beginnings of its scalar carries.  first(pair, point): the first value of an array carry at a point.
    needed: the carries whose last values are read.
    """
    pieces = _taken_apart(repeat)
    return None if pieces is None else _Interchanged(repeat, scalars, first, needed, *pieces).statements()


def _taken_apart(repeat: Repeat) -> tuple[list[Stmt], For, list[Stmt]] | None:
    """Return (scalar statements, the one loop over points, more scalar statements), if that is what the body is."""
    if repeat.iteration is None or repeat.length < FEWEST_ITERATIONS or not repeat.exchanges \
            or any(pair.before.name != pair.after.name for pair in repeat.exchanges):
        return None
    stmts: list[Stmt] = []
    for kernel in repeat.body:
        if not isinstance(kernel, Nest):
            return None
        stmts += kernel.body
    loops = [k for k, stmt in enumerate(stmts) if isinstance(stmt, For)]
    if len(loops) != 1:
        return None
    before, loop, after = stmts[:loops[0]], stmts[loops[0]], stmts[loops[0] + 1:]
    assert isinstance(loop, For)
    arrays = {buffer for pair in repeat.exchanges for buffer in (pair.before, pair.after)}
    fits = loop.simd and loop.independent and all(_is_pointwise(stmt, loop.axis, arrays) for stmt in loop.body) \
        and all(_is_scalar(stmt) for stmt in (*before, *after))
    return (before, loop, after) if fits else None


def _is_pointwise(stmt: Stmt, point: Node, carries: set[Buffer]) -> bool:
    """Does a statement store one element, and read carries at its own point only?"""
    if not isinstance(stmt, Store) or isinstance(stmt.place, Node) or stmt.place[1] is not point:
        return False
    return all(node.args[1] is point for node in walk([stmt.value]) if node.op == "load" and node.args[0] in carries)


def _is_scalar(stmt: Stmt) -> bool:
    """Is a statement about variables alone?"""
    plain = isinstance(stmt, Declare) or (isinstance(stmt, Store) and isinstance(stmt.place, Node))
    return plain and not any(node.op == "load" for node in walk(expressions(stmt)))


@dataclass
class _Interchanged:
    """The parts of a loop from which the other is made."""

    repeat: Repeat
    scalars: Sequence[Declare]
    first: Callable[[Exchange, Node], Node]
    needed: Container[Exchange]
    before: list[Stmt]
    loop: For
    after: list[Stmt]

    def statements(self) -> list[Stmt]:
        extent = int(self.loop.axis.args[1])
        size = max(pair.before.dtype.itemsize for pair in self.repeat.exchanges)
        lanes = max(TILE_BYTES // size // (1 if len(self.repeat.exchanges) <= TILE_ROWS else 2), 64 // size)
        blocks, rest = divmod(extent, lanes)
        body: list[Stmt] = []
        if blocks:
            lane, block = axis("lane", lanes), axis("block", blocks)
            inside = self._points(lane, linear(0, [(block, lanes), (lane, 1)]))
            body.append(For(block, number(0), number(blocks), inside, independent=True))
        if rest:  # a block of one iteration, for the scope of its variables
            lane, block = axis("lane", rest), axis("block", 1)
            inside = self._points(lane, linear(blocks * lanes, [(lane, 1)]))
            body.append(For(block, number(0), number(1), inside))
        return body

    def _points(self, lane: Node, position: Node) -> list[Stmt]:
        """Return all iterations for the points of one block."""
        repeat = self.repeat
        assert repeat.iteration is not None
        count = axis(str(repeat.iteration.args[0]), repeat.length)
        iteration = linear(repeat.length - 1, [(count, -1)]) if repeat.reverse else count
        rows = [(pair, _row(pair, lane), _row(pair, lane)) for pair in repeat.exchanges]
        point = self.loop.axis
        changed = {point: position, repeat.iteration: iteration}
        for pair, old, _ in rows:
            changed[load(pair.before, point, pair.before.dtype)] = load(old, lane, old.dtype)
        for read in self._reads_of_views():
            view = next(view for view in repeat.views if view.buffer is read.args[0])
            offset, = rewrite([read.args[1]], {point: position, repeat.iteration: iteration}, rebuild)
            changed[read] = load(view.base, linear(0, [(iteration, view.step), (offset, 1)]), view.base.dtype)
        places = {pair.after: (new, lane) for pair, _, new in rows}
        places |= {view.buffer: (view.base, linear(0, [(iteration, view.step), (position, 1)]))
                   for view in repeat.views}

        replacement = Replacement(changed)
        stores: list[Stmt] = []
        for stmt in replacement.of(self.loop.body):
            assert isinstance(stmt, Store)
            assert not isinstance(stmt.place, Node)
            stores.append(Store(places[stmt.place[0]], stmt.value))
        iterations = [*replacement.of(self.before), _over(lane, stores), *replacement.of(self.after)]
        first = replacement.of([Store((new, lane), self.first(pair, point)) for pair, _, new in rows])
        last = [Store((pair.result, position), load(old, lane, old.dtype))
                for pair, old, _ in rows if pair in self.needed]
        return [*(Row(new) for _, _, new in rows), _over(lane, first), *self.scalars,
                For(count, number(0), number(repeat.length), iterations), _over(lane, last)]

    def _reads_of_views(self) -> list[Node]:
        """Return every load of a slice that moves from iteration to iteration."""
        moving = {view.buffer for view in self.repeat.views}
        roots = [root for stmt in nested([*self.before, *self.loop.body, *self.after]) for root in expressions(stmt)]
        return [node for node in walk(roots) if node.op == "load" and node.args[0] in moving]


def _row(pair: Exchange, lane: Node) -> Buffer:
    """Return the registers of a carry: as it was and as it will be, two arrays of one name and so one place."""
    return Buffer(f"{pair.before.name}_row", (lane.args[1],), pair.before.dtype, "row")


def _over(lane: Node, body: Sequence[Stmt]) -> For:
    return For(lane, number(0), number(lane.args[1]), list(body), simd=True)


