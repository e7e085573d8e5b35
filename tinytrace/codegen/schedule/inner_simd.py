"""Loops whose innermost is the vectorised one: results of folds are variables.

    for i: { m = -inf; for j simd: m = max(m, x[i,j]);  s = 0; for j simd: { e[j] = exp(x[i,j] - m); s += e[j] } ... }

A long fold is one of blocks, each folded first: sums of many terms lose fewer digits.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tinytrace.codegen.ir.arithmetic import linear
from tinytrace.codegen.ir.cost import steps
from tinytrace.codegen.ir.nodes import Node, axis, local, number, walk
from tinytrace.codegen.ir.reductions import fold_of
from tinytrace.codegen.ir.statements import Combine, Declare, For, Inclusive, Row, Stmt, Store
from tinytrace.codegen.schedule.lane_simd import LaneSimd, are_crosswise
from tinytrace.codegen.schedule.simd_axis import batches, lanes_pay, packed, packed_rows
from tinytrace.codegen.schedule.tasks import StagePlan, Task, folds, replace, result_of, start_of, variable
from tinytrace.core.dtypes import is_complex, is_float
from tinytrace.records import replace as replaced

BLOCK = 256
"""So many terms of a sum are added to a variable of their own before they join the others.

With vectors of 8 that are 32 additions to each lane. The sum of 0.1, 10,000 to 10,000,000 times, loses 1e-7 to 2e-6 of
itself so (most where nearly 2048 parts are left, which are added in one loop), and 2e-6 to 6e-6 with blocks of 2048; it
takes as long or less (Zen 3).
"""
MANY_BLOCKS = 8
"""A shorter sum is not cut into blocks: rows of a thousand keep their simple loops, and their prefetch."""
FEWEST_ITERATIONS = 8
"""A block of a loop around others has at least so many iterations."""
MOST_BLOCKS = 32
"""So many blocks at most are added one by one; more are blocks of blocks."""

LANES = 16
"""Elements of four bytes in a vector of 512 bits."""
LEAST_REST = 4
"""What a loop leaves over is one vector less wide, if it is so many elements and has a loop of its own. Otherwise gcc
computes it element by element: exp of rows of 200 takes twice as long as of rows of 192."""
DEAR = 8
"""Steps of what is folded, from which that is worth it: not for a maximum, nor for a sum of elements."""

Into: TypeAlias = Callable[[Node], Node]
"""Which variable is folded into, for that of a result."""


def itself(x: Node) -> Node:
    """Return `x`: a loop folds into the variables of the results."""
    return x


class InnerSimd:
    """Code whose innermost loops are vectorised."""

    def __init__(self, outer: Sequence[Node], stages: Sequence[StagePlan]) -> None:
        self.outer = outer
        self.stages = stages
        self.crosswise = are_crosswise(outer, stages)
        """Does a pass have loops for what is left over of a row?"""

    def statements(self) -> list[Stmt]:
        rows = {buffer for stage in self.stages for task in stage.tasks for buffer, _ in task.targets
                if buffer.space == "row"}
        body: list[Stmt] = [Row(buffer) for buffer in sorted(rows, key=lambda b: b.name)]
        copies = packed_rows(self.outer, self.stages) if self.outer else []
        for stage in self.stages:
            body += self._lane_simd_stage(stage, copies) or self._stage(stage, 0)
        for k, a in enumerate(reversed(self.outer)):
            plain = k == 0 and not any(stage.inner for stage in self.stages)
            body = [For(a, number(0), number(a.args[1]), body, simd=plain, independent=True)]
        return [*copies, *body]

    def _lane_simd_stage(self, stage: StagePlan, copies: list[Stmt]) -> list[Stmt]:
        """Return one stage with the last axis of its results as lanes, if that is better; nothing if it is not."""
        depth = stage.tasks[0].depth
        whole = [*self.outer, *stage.inner[:depth]]
        if not depth or any(task.depth != depth or not task.root.combine or task.root.running for task in stage.tasks) \
                or depth == len(stage.inner):
            return []
        part = StagePlan(stage.inner[depth:], [replaced(task, depth=0, remembered=False) for task in stage.tasks])
        around = batches(whole, [part])[:len(self.outer)]
        around = around if len(around) == len(self.outer) else []  # what is packed for some would be between loops
        if not lanes_pay(whole, [part], around):
            return []
        own = packed(whole, [part], around)
        copies += [] if around else own
        return [*(own if around else []), *LaneSimd(stage.inner[:depth], [part], self.outer).statements()]

    def _stage(self, stage: StagePlan, depth: int, into: Into = itself) -> list[Stmt]:
        """Return the loops over `stage.inner[depth:]`; `into` says which variables are folded into."""
        before: list[Stmt] = []
        after: list[Stmt] = []
        for task in stage.tasks:
            if task.root.combine and task.depth == depth:
                before += [Declare(x, start_of(x, op)) for x, op, _ in folds(task)]
                after += self._finish(task)
        if depth == len(stage.inner):
            return [*before, *(stmt for task in stage.tasks for stmt in self._leaf(task, into)), *after]
        a = stage.inner[depth]
        inside = self._in_blocks(stage, depth, a, into) if _loses_digits(stage.tasks, depth) \
            else self._loops(stage, depth, a, into)
        return [*before, *inside, *after]

    def _in_blocks(self, stage: StagePlan, depth: int, a: Node, into: Into) -> list[Stmt]:
        """Return the loop over `a` as one over blocks, each of which is folded into parts, and what is left."""
        extent = int(a.args[1])
        terms = math.prod(int(b.args[1]) for b in stage.inner[depth + 1:])
        least = max(FEWEST_ITERATIONS, BLOCK // max(1, terms))
        if extent < MANY_BLOCKS * least:
            return self._loops(stage, depth, a, into)
        size = least
        while extent > size * MOST_BLOCKS:
            size *= MOST_BLOCKS
        blocks, rest = divmod(extent, size)
        block, inside = axis(f"{a.args[0]}_block" + f"_{size // least}" * (size > least), blocks), axis(a.args[0], size)
        within = _at(stage, a, linear(0, [(block, size), (inside, 1)]))
        folded = self._partial_fold(within, depth, inside, into, "partial")
        loops: list[Stmt] = [For(block, number(0), number(blocks), folded)]
        if rest:
            inside = axis(a.args[0], rest)
            last = _at(stage, a, linear(blocks * size, [(inside, 1)]))
            loops += self._partial_fold(last, depth, inside, into, "last")
        return loops

    def _partial_fold(self, stage: StagePlan, depth: int, a: Node, into: Into, suffix: str) -> list[Stmt]:
        """Return the loop over `a`, part of another, that folds into variables of its own before these join `into`."""
        folded = [fold for task in stage.tasks if task.root.combine for fold in folds(task)]

        def partial(x: Node) -> Node:
            return partial_of(into(x), suffix)

        return [*(Declare(partial(x), start_of(x, op)) for x, op, _ in folded),
                *self._in_blocks(stage, depth, a, partial),
                *(Combine(into(x), op, partial(x)) for x, op, _ in folded)]

    def _loops(self, stage: StagePlan, depth: int, a: Node, into: Into) -> list[Stmt]:
        """Return the loop over `a`, or that over whole vectors and that over what they leave over."""
        extent = int(a.args[1])
        rest = extent % LANES
        if self.crosswise or depth < len(stage.inner) - 1 or extent < 2 * LANES or rest < LEAST_REST \
                or not _is_dear(stage.tasks):
            return [self._loop(stage, depth, a, into)]
        whole, last = axis(a.args[0], extent - rest), axis(a.args[0], rest)
        return [self._loop(_at(stage, a, whole), depth, whole, into),
                *self._partial_fold(_at(stage, a, linear(extent - rest, [(last, 1)])), depth, last, into, "rest")]

    def _loop(self, stage: StagePlan, depth: int, a: Node, into: Into) -> Stmt:
        """Return the loop over `a`, which is the stage's at `depth` or a part of it."""
        innermost = depth == len(stage.inner) - 1
        simd = innermost and not any(task.root.running and not has_clause(task) for task in stage.tasks)
        stores = not innermost and not any(task.root.combine for task in stage.tasks)  # elements, and each once
        return For(a, number(0), number(a.args[1]), self._stage(stage, depth + 1, into), simd, independent=stores)

    def _leaf(self, task: Task, into: Into = itself) -> list[Stmt]:
        """Return what one iteration of the innermost loop does; `into` says which variables are folded into."""
        root = task.root
        if root.combine:
            stmts: list[Stmt] = [Combine(into(x), op, value) for x, op, value in folds(task)]
            if root.running:
                stmts += [Inclusive(x) for x, _, _ in folds(task) if has_clause(task)]
                stmts += [Store(target, result_of(task), root.eqns) for target in task.targets]
            return stmts
        if task.remembered and not task.depth:
            kept = variable(task)
            return [Declare(kept, task.value, fixed=True), *(Store(target, kept, root.eqns) for target in task.targets)]
        return [Store(target, task.value, root.eqns) for target in task.targets]

    def _finish(self, task: Task) -> list[Stmt]:
        if task.root.running:
            return []
        result = result_of(task)
        stmts: list[Stmt] = []
        if task.remembered and result is not variable(task):
            stmts.append(Declare(variable(task), result, fixed=True))
            result = variable(task)
        return [*stmts, *(Store(target, result, task.root.eqns) for target in task.targets)]


def partial_of(x: Node, suffix: str = "partial") -> Node:
    """Return the variable that a part of what `x` folds is folded into."""
    partial = local(f"{x.args[0]}_{suffix}", x.dtype)
    partial.eqns |= x.eqns
    return partial


def _at(stage: StagePlan, a: Node, place: Node) -> StagePlan:
    """Return a stage with `place` where axis `a` was."""
    changed = StagePlan(stage.inner, [replaced(task) for task in stage.tasks])
    replace([changed], {a: place})
    return changed


def _loses_digits(tasks: Sequence[Task], depth: int) -> bool:
    """Do the loops from `depth` on do nothing but fold, and are sums among the folds?"""
    roots = [task.root for task in tasks]
    return all(task.depth <= depth for task in tasks if task.root.combine) and any(
        root.combine in ("sum", "sub") and not root.running and is_float(root.var.aval.dtype) for root in roots)


def _is_dear(tasks: Sequence[Task]) -> bool:
    """Do tasks fold values that take more steps each than it takes to begin and to end a loop?

    Dot products of complex numbers, which have many steps, become one call (`passes/complex_dots.py`).
    """
    if any(task.root.running for task in tasks) or not any(task.root.combine for task in tasks):
        return False
    roots = [root for task in tasks for root in ([v for _, _, v in folds(task)] if task.root.combine else [task.value])]
    operations = [node.args[0] for node in walk(roots) if node.op == "apply"]
    return sum(map(steps, operations)) > DEAR and not any(is_complex(operation.result) for operation in operations)


def has_clause(task: Task) -> bool:
    """Can a running fold be vectorised, by what OpenMP knows of its operation?"""
    (x, op, _), *_others = folds(task)
    assert x.dtype is not None
    return fold_of(op, x.dtype).is_vectorised
