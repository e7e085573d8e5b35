"""Folds over leading axes of what streams by once: rows are folded in groups, on several threads, then the groups.

    for group: { s[..] = 0; for i in group: for lane simd: s[lane] += x[i, lane];  s_parts[group, ..] = s[..] }
    s[..] = 0; for group: for lane simd: s[lane] += s_parts[group, lane]

So memory is read in the order in which it lies, and sums of many terms lose fewer digits.
How many groups there are depends on the number of rows alone; so does the result.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tinytrace.codegen.across import STREAM_LANES, TURNS, Across, uses_again
from tinytrace.codegen.arithmetic import flat_offset, linear, rebuild
from tinytrace.codegen.kernel import Buffer, Stmt
from tinytrace.codegen.nodes import Node, axis, load, number, rewrite
from tinytrace.codegen.reductions import accumulator_type
from tinytrace.codegen.tasks import StagePlan, Task

GROUP_ROWS = 256
"""Rows that are folded at once: enough to make the second fold short, few enough to keep several threads busy."""
ROW_BYTES = 16 * 1024
"""What lies side by side in a row, of all results together: half of a core's first cache."""


def columns(outer: Sequence[Node], stages: Sequence[StagePlan]) -> list[Stmt]:
    """Return the loops of stages whose last outer axis becomes lanes."""
    stage = stages[0]
    rows = math.prod(a.args[1] for a in stage.inner)
    if len(stages) > 1 or rows < 2 * GROUP_ROWS or not all(_may_be_grouped(task) for task in stage.tasks) \
            or uses_again(outer, stages):
        return Across(outer, stages).statements()
    return _InGroups(outer, stage).statements()


def _may_be_grouped(task: Task) -> bool:
    root, dtype = task.root, task.root.var.aval.dtype
    return bool(root.combine) and not root.running and not task.depth and accumulator_type(dtype) == dtype


class _InGroups:
    """One stage of folds, the first of whose inner axes is cut into groups."""

    def __init__(self, outer: Sequence[Node], stage: StagePlan) -> None:
        self.outer = outer
        self.stage = stage
        self.first = stage.inner[0]
        self.name = f"{self.first.args[0]}_group"
        extent = int(self.first.args[1])
        about = max(1, GROUP_ROWS // math.prod(a.args[1] for a in stage.inner[1:]))
        self.size = extent // max(1, extent // about)
        self.size -= self.size % TURNS if self.size > TURNS else 0
        self.count, self.rest = divmod(extent, self.size)
        """Full groups, and what is left for one more."""
        shape = [a.args[1] for a in outer]
        shape.insert(-1, self.count + bool(self.rest))
        self.parts = {task: Buffer(f"{task.name}_parts", tuple(shape), task.root.var.aval.dtype, "workspace")
                      for task in stage.tasks}

    def statements(self) -> list[Stmt]:
        lanes = ROW_BYTES // sum(int(parts.dtype.itemsize) for parts in self.parts.values())
        group, inside = axis(self.name, self.count), axis(self.first.args[0], self.size)
        outer = [*self.outer[:-1], group, self.outer[-1]]
        place = linear(0, [(group, self.size), (inside, 1)])
        body = Across(outer, [self._part(group, inside, place)], lanes=max(lanes, STREAM_LANES)).statements()
        if self.rest:
            inside = axis(self.first.args[0], self.rest)
            place = linear(self.count * self.size, [(inside, 1)])
            body += Across(self.outer, [self._part(number(self.count), inside, place, "_rest")]).statements()
        return [*body, *columns(self.outer, [self._whole()])]

    def _part(self, group: Node, inside: Node, place: Node, suffix: str = "") -> StagePlan:
        """Return the folds of one group of rows."""
        tasks = []
        for task, parts in self.parts.items():
            value, = rewrite([task.value], {self.first: place}, rebuild)
            targets = [(parts, self._offset(parts, group))]
            tasks.append(replace(task, value=value, targets=targets, name=f"{task.name}{suffix}"))
        return StagePlan([inside, *self.stage.inner[1:]], tasks)

    def _whole(self) -> StagePlan:
        """Return the folds of the groups' results."""
        group = axis(self.name, self.count + bool(self.rest))
        return StagePlan([group], [
            replace(task, value=load(parts, self._offset(parts, group), parts.dtype), name=f"{task.name}_groups")
            for task, parts in self.parts.items()])

    def _offset(self, parts: Buffer, group: Node) -> Node:
        return flat_offset([*self.outer[:-1], group, self.outer[-1]], parts.shape)
