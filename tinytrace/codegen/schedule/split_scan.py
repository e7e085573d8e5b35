"""A running fold of one long row, on several threads: each chunk is folded, then each runs on from those before.

    for chunk: s_partials[chunk] = sum of its elements
    s = 0; for chunk: { partial = s_partials[chunk]; s_partials[chunk] = s; s += partial }
    for chunk: { s = s_partials[chunk]; for i in chunk: { s += x[i]; y[i] = s } }

How many chunks there are depends on the amount of work, not on the number of threads; so does the result.
"""
from __future__ import annotations

from tinytrace.codegen.ir.arithmetic import linear, minimum
from tinytrace.codegen.ir.nodes import Node, axis, load, local, number, walk
from tinytrace.codegen.ir.statements import Buffer, Combine, Declare, For, Stmt, Store
from tinytrace.codegen.schedule.inner_simd import InnerSimd, has_clause, partial_of
from tinytrace.codegen.schedule.tasks import StagePlan, folds, replace, start_of

CHUNK = 2048
"""So many elements run on from one partial result."""


def can_split_scan(stage: StagePlan) -> bool:
    """Are the folds of a stage running ones, of elements that may be computed twice, by an operation for vectors?"""
    return all(task.root.running and has_clause(task) and not _is_dear(task.value) for task in stage.tasks)


class SplitScan(InnerSimd):
    """Code of a stage with one running fold of everything."""

    def __init__(self, stage: StagePlan) -> None:
        super().__init__([], [stage])
        first, = stage.inner
        extent = int(first.args[1])
        self.chunk, self.inside = axis("chunk", -(-extent // CHUNK)), axis(first.args[0], CHUNK)
        self.end = minimum(number(CHUNK), linear(extent, [(self.chunk, -CHUNK)]))
        replace([stage], {first: linear(0, [(self.chunk, CHUNK), (self.inside, 1)])})

    def statements(self) -> list[Stmt]:
        (task,), = (stage.tasks for stage in self.stages)
        (x, op, value), = folds(task)
        assert x.dtype is not None
        partials = Buffer(f"{x.args[0]}_partials", (self.chunk.args[1],), x.dtype, "workspace", x.eqns)
        partial, so_far = load(partials, self.chunk, x.dtype), local(f"{x.args[0]}_so_far", x.dtype)
        first: list[Stmt] = [Declare(partial_of(x), start_of(x, op)),
                 self._inner_loop([Combine(partial_of(x), op, value)]),
                 Store((partials, self.chunk), partial_of(x))]
        between: list[Stmt] = [Declare(partial_of(x), partial, fixed=True), Store((partials, self.chunk), so_far),
                   Combine(so_far, op, partial_of(x))]
        second: list[Stmt] = [Declare(x, partial), self._inner_loop(self._leaf(task))]
        return [self._each(first, independent=True), Declare(so_far, start_of(x, op)), self._each(between),
                self._each(second, independent=True)]

    def _each(self, body: list[Stmt], independent: bool = False) -> For:
        return For(self.chunk, number(0), number(self.chunk.args[1]), body, independent=independent)

    def _inner_loop(self, body: list[Stmt]) -> For:
        return For(self.inside, number(0), self.end, body, simd=True)


def _is_dear(value: Node) -> bool:
    return any(node.op == "apply" and node.args[0].calls for node in walk([value]))
