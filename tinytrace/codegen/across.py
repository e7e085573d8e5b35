"""Loops whose vectorised one is the last outer loop: neighbours are computed side by side, results of folds are short rows.

    for block: { s[..] = 0; for i: for lane simd: s[lane] += x[i, block + lane];  for lane simd: y[..] = s[lane] }

For reductions over leading axes, where neighbours in memory belong to different sums.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.arithmetic import linear, minimum, rebuild
from tinytrace.codegen.kernel import Buffer, Combine, For, Row, Stmt, Store
from tinytrace.codegen.nodes import Node, apply, axis, literal, load, number, rewrite
from tinytrace.codegen.reductions import accumulator_type, identity, propagating
from tinytrace.codegen.tasks import StagePlan, Task, replace, variable
from tinytrace.core.dtypes import is_float

LANES = 512
"""Elements computed side by side when data streams by: long enough to stream, short enough for a core's first cache."""
TURNS = 4
"""Turns of a loop over a sum's terms that are done as one: a row is then read and written a fourth as often."""


def _is_plain_sum(task: Task) -> bool:
    """Does a task do nothing in the loop but add to a row?"""
    return task.root.combine == "sum" and not task.root.running and is_float(task.root.var.aval.dtype)


class Across:
    """Code that computes `LANES` neighbours of the last outer loop side by side."""

    def __init__(self, outer: Sequence[Node], stages: Sequence[StagePlan]) -> None:
        self.outer = outer
        self.stages = stages
        last = outer[-1]
        extent = last.args[1]
        self.lane = axis("lane", min(extent, LANES))
        self.block = axis(last.args[0], -(-extent // LANES)) if extent > LANES else None
        position = self.lane if self.block is None else linear(0, [(self.block, LANES), (self.lane, 1)])
        self.end = number(extent) if self.block is None else minimum(number(LANES), linear(extent, [(self.block, -LANES)]))
        self._rows: dict[Task, Buffer] = {}
        replaced = {last: position}
        for stage in stages:
            for task in stage.tasks:
                replaced[variable(task)] = self._result(task)
        replace(stages, replaced)

    def statements(self) -> list[Stmt]:
        body: list[Stmt] = []
        for stage in self.stages:
            body += self._stage(stage, 0)
        loops = self.outer[:-1] + ([self.block] if self.block is not None else [])
        for a in reversed(loops):
            body = [For(a, number(0), number(a.args[1]), body, independent=True)]
        return body

    def _row(self, task: Task) -> Buffer:
        if task not in self._rows:
            dtype = task.root.var.aval.dtype
            self._rows[task] = Buffer(f"{task.name}_row", (self.lane.args[1],), accumulator_type(dtype), "row")
        return self._rows[task]

    def _result(self, task: Task) -> Node:
        row = self._row(task)
        node = load(row, self.lane, row.dtype)
        dtype = task.root.var.aval.dtype
        return node if row.dtype == dtype else apply("{0}", (node,), dtype)

    def _lanes(self, body: list[Stmt]) -> list[Stmt]:
        return [For(self.lane, number(0), self.end, body, simd=True)] if body else []

    def _stage(self, stage: StagePlan, depth: int) -> list[Stmt]:
        before: list[Stmt] = []
        starts: list[Stmt] = []
        ends: list[Stmt] = []
        for task in stage.tasks:
            if task.root.combine and task.depth == depth:
                row = self._row(task)
                op = propagating(task.root.combine, row.dtype)
                before.append(Row(row))
                starts.append(Store((row, self.lane), literal(identity(op, row.dtype), row.dtype)))
                if not task.root.running:
                    ends += [Store(target, self._result(task)) for target in task.targets]
        if depth == len(stage.inner):
            inside: list[Stmt] = []
            for task in stage.tasks:
                if task.remembered and not task.root.combine:
                    before.append(Row(self._row(task)))
                inside += self._leaf(task)
            return [*before, *self._lanes(starts), *self._lanes(inside), *self._lanes(ends)]
        a = stage.inner[depth]
        if depth == len(stage.inner) - 1 and a.args[1] >= 2 * TURNS and all(_is_plain_sum(task) for task in stage.tasks):
            loops = self._in_strides(stage, a)
        else:
            loops = [For(a, number(0), number(a.args[1]), self._stage(stage, depth + 1))]
        return [*before, *self._lanes(starts), *loops, *self._lanes(ends)]

    def _in_strides(self, stage: StagePlan, a: Node) -> list[Stmt]:
        """Return the innermost loop of sums with `TURNS` turns done as one: the row is read and written once for all."""
        strides, rest = divmod(a.args[1], TURNS)
        stride = axis(a.args[0], strides)
        turns: list[Node] = [linear(k, [(stride, TURNS)]) for k in range(TURNS)]
        loops: list[Stmt] = [For(stride, number(0), number(strides), self._sums(stage, a, turns))]
        for k in range(a.args[1] - rest, a.args[1]):
            loops += self._sums(stage, a, [number(k)])
        return loops

    def _sums(self, stage: StagePlan, a: Node, turns: Sequence[Node]) -> list[Stmt]:
        """Return the statement that adds the elements of several turns to each row."""
        body: list[Stmt] = []
        for task in stage.tasks:
            row = self._row(task)
            parts = [rewrite([task.value], {a: turn}, rebuild)[0] for turn in turns]
            while len(parts) > 1:  # pairs of pairs: fewer additions wait for each other
                parts = [apply("{0} + {1}", (x, y), row.dtype) for x, y in zip(parts[::2], parts[1::2], strict=True)]
            body.append(Combine((row, self.lane), "sum", parts[0]))
        return self._lanes(body)

    def _leaf(self, task: Task) -> list[Stmt]:
        row = (self._row(task), self.lane) if task.remembered or task.root.combine else None
        if task.root.combine:
            assert row is not None
            stmts: list[Stmt] = [Combine(row, propagating(task.root.combine, row[0].dtype), task.value)]
            if task.root.running:
                stmts += [Store(target, self._result(task)) for target in task.targets]
            return stmts
        stmts = [Store(row, task.value)] if row is not None else []
        return [*stmts, *(Store(target, task.value) for target in task.targets)]
