"""Folds of everything into one value, on several threads: pieces fold into parts, then the parts fold.

    for piece: { s_part = 0; for i in piece simd: s_part += x[i];  s_parts[piece] = s_part }
    s = 0; for piece simd: s += s_parts[piece]

A running fold goes over its elements twice: parts first, which say where each piece begins, then each piece runs on.
How many pieces there are depends on the amount of work, not on the number of threads; so does the result.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tinytrace.codegen.along import BLOCK, Along, has_clause, part_of, split
from tinytrace.codegen.kernel import Buffer, Combine, Declare, For, Stmt, Store
from tinytrace.codegen.nodes import Node, load, local, number, walk
from tinytrace.codegen.tasks import StagePlan, Task, folds, replace, start_of
from tinytrace.codegen.threads import pieces


def in_pieces(stage: StagePlan, nanoseconds: float) -> Along:
    """Return the code of a stage of folds of everything, which takes so long on one thread."""
    count = pieces(nanoseconds)
    if count > 1 and not any(task.root.running for task in stage.tasks):
        return InPieces(stage, count)
    if count > 1 and all(has_clause(task) and not _is_dear(task.value) for task in stage.tasks):
        return RunningInPieces(stage, count)
    return Along([], [stage])


class InPieces(Along):
    """Code that folds everything into one value, in at least `count` pieces."""

    def __init__(self, stage: StagePlan, count: int) -> None:
        super().__init__([], [stage])
        self._parts: dict[Node, Buffer] = {}
        first = stage.inner[0]
        turns = max(1, BLOCK // math.prod(a.args[1] for a in stage.inner[1:]))
        size = min(turns, -(-int(first.args[1]) // count))
        self.piece, self.inside, self.end, position = split(first, size, "piece")
        stage.inner[0] = self.inside
        replace([stage], {first: position})

    def statements(self) -> list[Stmt]:
        return [self.each(self._piece(), independent=True), *self._joined(self.stages[0].tasks)]

    def _piece(self) -> list[Stmt]:
        """Return what folds one piece into its parts."""
        stage, = self.stages
        parts = [(x, op) for task in stage.tasks if _is_whole(task) for x, op, _ in folds(task)]
        return [*(Declare(part_of(x), start_of(x, op)) for x, op in parts), self.turns(self._stage(stage, 1)),
                *(Store((self.parts(x), self.piece), part_of(x)) for x, _ in parts)]

    def _joined(self, tasks: Sequence[Task]) -> list[Stmt]:
        """Return what folds the parts of all pieces."""
        tasks = [task for task in tasks if _is_whole(task)]
        parts = [(x, op) for task in tasks for x, op, _ in folds(task)]
        return [*(Declare(x, start_of(x, op)) for x, op in parts),
                self.each([Combine(x, op, self.part(x)) for x, op in parts], simd=True),
                *(stmt for task in tasks for stmt in self._finish(task))]

    def each(self, body: list[Stmt], simd: bool = False, independent: bool = False) -> For:
        """Return a loop over the pieces."""
        return For(self.piece, number(0), number(self.piece.args[1]), body, simd, independent)

    def turns(self, body: list[Stmt]) -> For:
        """Return the outermost loop inside a piece."""
        return For(self.inside, number(0), self.end, body, simd=len(self.stages[0].inner) == 1)

    def parts(self, x: Node) -> Buffer:
        """Return the array of what the pieces fold into `x`."""
        assert x.dtype is not None
        found = self._parts.get(x)
        if found is None:
            found = self._parts[x] = Buffer(f"{x.args[0]}_parts", (self.piece.args[1],), x.dtype, "workspace")
        return found

    def part(self, x: Node) -> Node:
        """Return what one piece has folded into `x`."""
        assert x.dtype is not None
        return load(self.parts(x), self.piece, x.dtype)

    def _leaf(self, task: Task, into: Callable[[Node], Node] = part_of) -> list[Stmt]:
        return super()._leaf(task, into if _is_whole(task) else lambda x: x)


class RunningInPieces(InPieces):
    """Code of a running fold: the parts first, then each piece runs on from what is folded before it."""

    def statements(self) -> list[Stmt]:
        (task,), = (stage.tasks for stage in self.stages)
        (x, op, value), = folds(task)
        begin = local(f"{x.args[0]}_begin", x.dtype)
        first = [Declare(part_of(x), start_of(x, op)), self.turns([Combine(part_of(x), op, value)]),
                 Store((self.parts(x), self.piece), part_of(x))]
        between = [Declare(part_of(x), self.part(x), fixed=True), Store((self.parts(x), self.piece), begin),
                   Combine(begin, op, part_of(x))]
        second = [Declare(x, self.part(x)), self.turns(self._leaf(task, lambda x: x))]
        return [self.each(first, independent=True), Declare(begin, start_of(x, op)), self.each(between),
                self.each(second, independent=True)]


def _is_whole(task: Task) -> bool:
    """Does a task fold everything into one value?"""
    return bool(task.root.combine) and not task.depth


def _is_dear(value: Node) -> bool:
    """Should elements not be computed twice?"""
    return any(node.op == "apply" and "tt_" in node.args[0] for node in walk([value]))
