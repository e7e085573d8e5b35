"""From a group of roots to loops: which axes merge, which one is vectorised, where sums stand, what is kept in rows.

Two shapes of code come out. *Along*: the innermost loop of every stage is vectorised, results of folds are variables.

    for i: { m = -inf; for j simd: m = max(m, x[i,j]);  s = 0; for j simd: { e[j] = exp(x[i,j] - m); s += e[j] } ... }

*Across*: the last outer loop is cut into blocks whose elements are computed side by side, results of folds are short
rows; for reductions over leading axes, where neighbours in memory belong to different sums.

    for block: { s[..] = 0; for i: for lane simd: s[lane] += x[i, block + lane];  for lane simd: y[..] = s[lane] }
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tinytrace.codegen.arithmetic import flat_offset, linear, minimum, rebuild, stride_along
from tinytrace.codegen.axes import can_merge, merged
from tinytrace.codegen.kernel import Buffer, Combine, Declare, For, Row, Stmt, Store
from tinytrace.codegen.nodes import Node, apply, axis, literal, load, local, number, rewrite, walk
from tinytrace.codegen.partition import Group, Root
from tinytrace.codegen.reductions import accumulator_type, identity, propagating
from tinytrace.codegen.c_types import spelled
from tinytrace.codegen.threads import duration, pieces
from tinytrace.core.dtypes import BOOL, is_float
from tinytrace.core.jaxpr import Var

LANES = 512
"""Elements computed side by side in *across* code: long enough to stream, short enough for a core's first cache."""


TURNS = 4
"""Turns of a loop over a sum's terms that are done as one in *across* code: a row is then read and written a fourth as
often."""


@dataclass(eq=False)
class Task:
    """A root with its decisions: what it computes, in which loops, and where the result goes."""

    root: Root
    value: Node
    targets: list[tuple[Buffer, Node]]
    """Where in memory the result goes."""
    depth: int
    """How many of its stage's inner loops are over dimensions of the result."""
    name: str
    remembered: bool
    """Do later stages read the result?"""


@dataclass(eq=False)
class StagePlan:
    """Tasks that share the loops `inner`, inside the outer loops."""

    inner: list[Node]
    tasks: list[Task]


class Plan:
    """The loops of one group under construction; `statements()` is the result."""

    def __init__(self, outer: Sequence[Node], stages: list[StagePlan]) -> None:
        self.outer = [a for a in outer if a.op == "axis"]
        self.stages = stages
        for stage in stages:
            axes = stage.inner
            for task in stage.tasks:
                task.depth = sum(a.op == "axis" for a in axes[:task.depth])
            stage.inner = [a for a in axes if a.op == "axis"]

    def statements(self) -> list[Stmt]:
        """Return the loops."""
        self._merge_loops()
        if self.outer and self._is_across():
            return Across(self).statements()
        if not self.outer and len(self.stages) == 1 and self.stages[0].inner:
            whole = Along(self).statements()
            running = any(task.root.running for task in self.stages[0].tasks)  # each step waits for the one before
            count = 1 if running else pieces(duration(whole))
            return whole if count == 1 else InPieces(self, count).statements()
        return Along(self).statements()

    # --- merging -----------------------------------------------------------------------------------------------

    def _merge_loops(self) -> None:
        everything = [stage for stage in self.stages if stage.tasks]
        self._merge(self.outer, everything, lambda k: True)
        for stage in everything:
            self._merge(stage.inner, [stage], lambda k, s=stage: all(task.depth != k for task in s.tasks if task.root.combine))

    def _merge(self, axes: list[Node], stages: list[StagePlan], allowed: object) -> None:
        k = len(axes) - 1
        while k > 0:
            nodes = walk(self._nodes(stages))
            if allowed(k) and can_merge(nodes, axes[k - 1], axes[k]):  # type: ignore[operator]
                both, replaced = merged(axes[k - 1], axes[k])
                axes[k - 1:k + 1] = [both]
                self.replace(replaced, stages)
                for stage in stages:
                    for task in stage.tasks:
                        task.depth -= axes is stage.inner and task.depth >= k
            k -= 1

    def _nodes(self, stages: Iterable[StagePlan]) -> list[Node]:
        tasks = [task for stage in stages for task in stage.tasks]
        return [node for task in tasks for node in (task.value, *(offset for _, offset in task.targets))]

    def replace(self, replaced: dict[Node, Node], stages: Iterable[StagePlan]) -> None:
        """Put other nodes in the place of some, in everything that is computed."""
        for stage in stages:
            for task in stage.tasks:
                value, *offsets = rewrite([task.value, *(offset for _, offset in task.targets)], replaced, rebuild)
                task.value = value
                task.targets = [(buffer, offset) for (buffer, _), offset in zip(task.targets, offsets, strict=True)]

    # --- along or across ---------------------------------------------------------------------------------------

    def _is_across(self) -> bool:
        """Do fewer loads jump through memory when the last outer loop is the vectorised one?"""
        if not any(stage.inner for stage in self.stages):
            return False
        if any(task.remembered and task.depth for stage in self.stages for task in stage.tasks):
            return False  # a row per lane would be needed
        along = across = 0
        for stage in self.stages:
            inner = frozenset(stage.inner)
            for node in walk(self._nodes([stage])):
                if node.op == "load" and inner & node.axes:
                    along += stride_along(node.args[1], stage.inner[-1]) not in (0, 1)
                    across += stride_along(node.args[1], self.outer[-1]) not in (0, 1)
        running = any(task.root.running for stage in self.stages for task in stage.tasks)
        return across < along or running and not across  # folds one after the other wait for each other


class Along:
    """Code whose innermost loops are vectorised."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def statements(self) -> list[Stmt]:
        rows = {buffer for stage in self.plan.stages for task in stage.tasks for buffer, _ in task.targets
                if buffer.space == "row"}
        body: list[Stmt] = [Row(buffer) for buffer in sorted(rows, key=lambda b: b.name)]
        for stage in self.plan.stages:
            body += self._stage(stage, 0)
        for k, a in enumerate(reversed(self.plan.outer)):
            plain = k == 0 and not any(stage.inner for stage in self.plan.stages)
            body = [For(a, number(0), number(a.args[1]), body, simd=plain, independent=True)]
        return body

    def _stage(self, stage: StagePlan, depth: int) -> list[Stmt]:
        before: list[Stmt] = []
        after: list[Stmt] = []
        for task in stage.tasks:
            if task.root.combine and task.depth == depth:
                before += [Declare(x, _start(x, op)) for x, op, _ in folds(task)]
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


def variable(task: Task) -> Node:
    """Return the C variable that holds the result of a root."""
    return local(task.name, task.root.var.aval.dtype)


def folds(task: Task) -> list[tuple[Node, str, Node]]:
    """Return (variable, operation, element) for each variable that a loop folds into."""
    root, dtype = task.root, task.root.var.aval.dtype
    wide = accumulator_type(dtype)
    if propagating(root.combine, wide) == root.combine or root.running:
        name = task.name if wide == dtype else f"{task.name}_{root.combine}"
        return [(local(name, wide), propagating(root.combine, wide), task.value)]
    is_nan = apply("{0} != {0}", (task.value,), BOOL)
    return [(local(f"{task.name}_{root.combine}", wide), root.combine, task.value),
            (local(f"{task.name}_nan", BOOL), "or", is_nan)]


def result_of(task: Task) -> Node:
    """Return what the folded variables mean when the loop has ended."""
    first, *others = [x for x, _, _ in folds(task)]
    dtype = task.root.var.aval.dtype
    wide = first.dtype
    assert wide is not None
    if others:
        first = apply(f"{{1}} ? {spelled(float('nan'), wide)} : {{0}}", (first, others[0]), wide)
    return first if wide == dtype else apply("{0}", (first,), dtype)


class InPieces(Along):
    """Code that folds everything into one value: pieces fold into parts, on several threads, then the parts fold.

    How many pieces there are depends on the amount of work, not on the number of threads, so the result does not either.
    """

    def __init__(self, plan: Plan, count: int) -> None:
        super().__init__(plan)
        stage, = plan.stages
        first = stage.inner[0]
        extent = int(first.args[1])
        size = -(-extent // count)
        size = -(-size // 64) * 64 if len(stage.inner) == 1 else size
        self.piece = axis("piece", -(-extent // size))
        self.inside = axis(first.args[0], size)
        self.end = minimum(number(size), linear(extent, [(self.piece, -size)]))
        stage.inner[0] = self.inside
        plan.replace({first: linear(0, [(self.piece, size), (self.inside, 1)])}, [stage])

    def statements(self) -> list[Stmt]:
        stage, = self.plan.stages
        folded = [task for task in stage.tasks if self._is_whole(task)]
        body: list[Stmt] = [Declare(_part(x), _start(x, op)) for task in folded for x, op, _ in folds(task)]
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
                after.append(Declare(x, _start(x, op)))
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


def _start(x: Node, op: str) -> Node:
    assert x.dtype is not None
    return literal(identity(op, x.dtype), x.dtype)


def _is_plain_sum(task: Task) -> bool:
    """Does a task do nothing in the loop but add to a row?"""
    return task.root.combine == "sum" and not task.root.running and is_float(task.root.var.aval.dtype)


class Across:
    """Code that computes `LANES` neighbours of the last outer loop side by side."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        last = plan.outer[-1]
        extent = last.args[1]
        self.lane = axis("lane", min(extent, LANES))
        self.block = axis(last.args[0], -(-extent // LANES)) if extent > LANES else None
        position = self.lane if self.block is None else linear(0, [(self.block, LANES), (self.lane, 1)])
        self.end = number(extent) if self.block is None else minimum(number(LANES), linear(extent, [(self.block, -LANES)]))
        self._rows: dict[Task, Buffer] = {}
        replaced = {last: position}
        for stage in plan.stages:
            for task in stage.tasks:
                replaced[variable(task)] = self._result(task)
        plan.replace(replaced, plan.stages)

    def statements(self) -> list[Stmt]:
        body: list[Stmt] = []
        for stage in self.plan.stages:
            body += self._stage(stage, 0)
        loops = self.plan.outer[:-1] + ([self.block] if self.block is not None else [])
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


