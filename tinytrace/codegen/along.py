"""Loops whose innermost is the vectorised one: results of folds are variables, and a fold of everything has pieces.

    for i: { m = -inf; for j simd: m = max(m, x[i,j]);  s = 0; for j simd: { e[j] = exp(x[i,j] - m); s += e[j] } ... }
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as replaced

from tinytrace.codegen.across import Across
from tinytrace.codegen.arithmetic import linear, minimum
from tinytrace.codegen.kernel import Buffer, Combine, Declare, For, Row, Stmt, Store
from tinytrace.codegen.lanes import lanes_pay, packed
from tinytrace.codegen.nodes import Node, axis, load, local, number
from tinytrace.codegen.tasks import StagePlan, Task, folds, replace, result_of, start_of, variable


class Along:
    """Code whose innermost loops are vectorised."""

    def __init__(self, outer: Sequence[Node], stages: Sequence[StagePlan]) -> None:
        self.outer = outer
        self.stages = stages

    def statements(self) -> list[Stmt]:
        rows = {buffer for stage in self.stages for task in stage.tasks for buffer, _ in task.targets
                if buffer.space == "row"}
        body: list[Stmt] = [Row(buffer) for buffer in sorted(rows, key=lambda b: b.name)]
        copies: list[Stmt] = []
        for stage in self.stages:
            body += self._across(stage, copies) or self._stage(stage, 0)
        for k, a in enumerate(reversed(self.outer)):
            plain = k == 0 and not any(stage.inner for stage in self.stages)
            body = [For(a, number(0), number(a.args[1]), body, simd=plain, independent=True)]
        return [*copies, *body]

    def _across(self, stage: StagePlan, copies: list[Stmt]) -> list[Stmt]:
        """Return one stage with the last axis of its results as lanes, if that is better; nothing if it is not."""
        depth = stage.tasks[0].depth
        whole = [*self.outer, *stage.inner[:depth]]
        if not depth or any(task.depth != depth or not task.root.combine or task.root.running for task in stage.tasks) \
                or depth == len(stage.inner):
            return []
        part = StagePlan(stage.inner[depth:], [replaced(task, depth=0, remembered=False) for task in stage.tasks])
        if not lanes_pay(whole, [part]):
            return []
        copies += packed(whole, [part])
        return Across(stage.inner[:depth], [part], self.outer).statements()

    def _stage(self, stage: StagePlan, depth: int) -> list[Stmt]:
        before: list[Stmt] = []
        after: list[Stmt] = []
        for task in stage.tasks:
            if task.root.combine and task.depth == depth:
                before += [Declare(x, start_of(x, op)) for x, op, _ in folds(task)]
                after += self._finish(task)
        if depth == len(stage.inner):
            return [*before, *(stmt for task in stage.tasks for stmt in self._leaf(task)), *after]
        a = stage.inner[depth]
        innermost = depth == len(stage.inner) - 1
        simd = innermost and not any(task.root.running for task in stage.tasks)
        loop = For(a, number(0), number(a.args[1]), self._stage(stage, depth + 1), simd)
        return [*before, loop, *after]

    def _leaf(self, task: Task) -> list[Stmt]:
        root = task.root
        if root.combine:
            stmts: list[Stmt] = [Combine(x, op, value) for x, op, value in folds(task)]
            if root.running:
                stmts += [Store(target, result_of(task)) for target in task.targets]
            return stmts
        if task.remembered and not task.depth:
            kept = variable(task)
            return [Declare(kept, task.value, fixed=True), *(Store(target, kept) for target in task.targets)]
        return [Store(target, task.value) for target in task.targets]

    def _finish(self, task: Task) -> list[Stmt]:
        if task.root.running:
            return []
        result = result_of(task)
        stmts: list[Stmt] = []
        if task.remembered and result is not variable(task):
            stmts.append(Declare(variable(task), result, fixed=True))
            result = variable(task)
        return [*stmts, *(Store(target, result) for target in task.targets)]


class InPieces(Along):
    """Code that folds everything into one value: pieces fold into parts, on several threads, then the parts fold.

    How many pieces there are depends on the amount of work, not on the number of threads; so does the result.
    """

    def __init__(self, stage: StagePlan, count: int) -> None:
        super().__init__([], [stage])
        first = stage.inner[0]
        extent = int(first.args[1])
        size = -(-extent // count)
        size = -(-size // 64) * 64 if len(stage.inner) == 1 else size
        self.piece = axis("piece", -(-extent // size))
        self.inside = axis(first.args[0], size)
        self.end = minimum(number(size), linear(extent, [(self.piece, -size)]))
        stage.inner[0] = self.inside
        replace([stage], {first: linear(0, [(self.piece, size), (self.inside, 1)])})

    def statements(self) -> list[Stmt]:
        stage, = self.stages
        folded = [task for task in stage.tasks if self._is_whole(task)]
        body: list[Stmt] = [Declare(_part(x), start_of(x, op)) for task in folded for x, op, _ in folds(task)]
        loop = self._stage(stage, 1)
        innermost = len(stage.inner) == 1
        body.append(For(self.inside, number(0), self.end, loop, simd=innermost))
        after: list[Stmt] = []
        loads: list[Stmt] = []
        for task in folded:
            for x, op, _ in folds(task):
                assert x.dtype is not None
                parts = Buffer(f"{x.args[0]}_parts", (self.piece.args[1],), x.dtype, "workspace")
                body.append(Store((parts, self.piece), _part(x)))
                after.append(Declare(x, start_of(x, op)))
                loads.append(Combine(x, op, load(parts, self.piece, x.dtype)))
        ends = [stmt for task in folded for stmt in self._finish(task)]
        count = number(self.piece.args[1])
        return [For(self.piece, number(0), count, body, independent=True), *after,
                For(self.piece, number(0), count, loads, simd=True), *ends]

    @staticmethod
    def _is_whole(task: Task) -> bool:
        return bool(task.root.combine) and not task.depth

    def _leaf(self, task: Task) -> list[Stmt]:
        if self._is_whole(task):
            return [Combine(_part(x), op, value) for x, op, value in folds(task)]
        return super()._leaf(task)


def _part(x: Node) -> Node:
    return local(f"{x.args[0]}_part", x.dtype)
