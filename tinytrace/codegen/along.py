"""Loops whose innermost is the vectorised one: results of folds are variables.

    for i: { m = -inf; for j simd: m = max(m, x[i,j]);  s = 0; for j simd: { e[j] = exp(x[i,j] - m); s += e[j] } ... }

A long fold is one of blocks, each folded first: sums of many terms lose fewer digits.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace as replaced

from tinytrace.codegen.across import Across
from tinytrace.codegen.arithmetic import linear, minimum
from tinytrace.codegen.kernel import Combine, Declare, For, Inclusive, Row, Stmt, Store
from tinytrace.codegen.lanes import lanes_pay, packed
from tinytrace.codegen.nodes import Node, axis, local, number
from tinytrace.codegen.reductions import fold_of
from tinytrace.codegen.tasks import StagePlan, Task, folds, replace, result_of, start_of, variable
from tinytrace.core.dtypes import is_float

BLOCK = 4096
"""So many terms of a sum are added to a variable of their own before they join the others."""


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
        if innermost and a.args[1] >= 2 * BLOCK and any(_loses_digits(task) for task in stage.tasks):
            return [*before, self._in_blocks(stage), *after]
        simd = innermost and not any(task.root.running and not has_clause(task) for task in stage.tasks)
        loop = For(a, number(0), number(a.args[1]), self._stage(stage, depth + 1), simd)
        return [*before, loop, *after]

    def _in_blocks(self, stage: StagePlan) -> Stmt:
        """Return the innermost loop as one over blocks, each of which is folded into parts."""
        a = stage.inner[-1]
        block, inside, end, position = split(a, BLOCK)
        part = StagePlan(stage.inner, [replaced(task) for task in stage.tasks])
        replace([part], {a: position})
        folded = [fold for task in part.tasks if task.root.combine for fold in folds(task)]
        body: list[Stmt] = [Declare(part_of(x), start_of(x, op)) for x, op, _ in folded]
        leaf = [stmt for task in part.tasks for stmt in self._leaf(task, part_of)]
        body.append(For(inside, number(0), end, leaf, simd=True))
        body += [Combine(x, op, part_of(x)) for x, op, _ in folded]
        return For(block, number(0), number(block.args[1]), body)

    def _leaf(self, task: Task, into: Callable[[Node], Node] = lambda x: x) -> list[Stmt]:
        """Return what one turn of the innermost loop does; `into` says which variables are folded into."""
        root = task.root
        if root.combine:
            stmts: list[Stmt] = [Combine(into(x), op, value) for x, op, value in folds(task)]
            if root.running:
                stmts += [Inclusive(x) for x, _, _ in folds(task) if has_clause(task)]
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


def split(a: Node, size: int, name: str = "") -> tuple[Node, Node, Node, Node]:
    """Return `a` in blocks: (the axis of blocks, the one inside a block, where that ends, the place of `a`)."""
    extent = int(a.args[1])
    block, inside = axis(name or f"{a.args[0]}_block", -(-extent // size)), axis(a.args[0], size)
    return block, inside, minimum(number(size), linear(extent, [(block, -size)])), \
        linear(0, [(block, size), (inside, 1)])


def part_of(x: Node) -> Node:
    """Return the variable that a part of what `x` folds is folded into."""
    return local(f"{x.args[0]}_part", x.dtype)


def _loses_digits(task: Task) -> bool:
    root = task.root
    return root.combine in ("sum", "sub") and not root.running and is_float(root.var.aval.dtype)


def has_clause(task: Task) -> bool:
    """Can a running fold be vectorised, by what OpenMP knows of its operation?"""
    (x, op, _), *_others = folds(task)
    assert x.dtype is not None
    return bool(fold_of(op, x.dtype).clause)
