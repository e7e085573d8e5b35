"""From a group of roots to loops: which axes merge, and whether the innermost or the last outer loop is vectorised.

`inner_simd` writes loops of the first shape, `lane_simd` of the second; `split_reduction`, `split_scan` split folds.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from tinytrace.codegen.ir.cost import chunks, duration
from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.statements import Stmt
from tinytrace.codegen.schedule.collapse import can_merge, merged, split_loops
from tinytrace.codegen.schedule.column_folds import fold_columns
from tinytrace.codegen.schedule.inner_simd import BLOCK, MANY_BLOCKS, InnerSimd
from tinytrace.codegen.schedule.lane_simd import are_short_rows
from tinytrace.codegen.schedule.simd_axis import batches, lanes_last, lanes_pay, with_packed
from tinytrace.codegen.schedule.split_reduction import SplitReduction
from tinytrace.codegen.schedule.split_scan import SplitScan, can_split_scan
from tinytrace.codegen.schedule.tasks import StagePlan, computed, replace


class GroupLoops:
    """The loops of one group under construction; `statements()` is the result."""

    def __init__(self, outer: Sequence[Node], stages: list[StagePlan]) -> None:
        self.outer = [a for a in outer if a.op == "axis"]
        self.stages = stages
        for stage in stages:
            axes = stage.inner
            for task in stage.tasks:
                task.depth = sum(a.op == "axis" for a in axes[:task.depth])
            stage.inner = [a for a in axes if a.op == "axis"]
        self.is_around = not self.outer and len(stages) == 2 and bool(stages[0].inner)
        """Are the sums of the second stage around totals of the first? Else there were nothing for them to share."""

    def statements(self) -> list[Stmt]:
        """Return the loops."""
        if len(self.stages) == 1 and not self.stages[0].inner:
            self.outer, replaced = split_loops(self.outer, computed(self.stages))
            replace(self.stages, replaced)
        self._merge_loops()
        self.outer = lanes_last(self.outer, self.stages)
        if self._prefers_lane_simd():
            return with_packed(self.outer, self.stages, fold_columns)
        if not self.outer and self.stages[0].inner:
            return self._fold_of_everything(self.stages[0])
        return _inner_simd(self.outer, self.stages)

    def _fold_of_everything(self, stage: StagePlan) -> list[Stmt]:
        """Return the loops when there are no outer ones: in chunks, if that is worth it."""
        whole = _inner_simd([], self.stages)
        count = chunks(duration(whole))
        if any(task.root.running for task in stage.tasks):
            return SplitScan(stage).statements() if count > 1 and can_split_scan(stage) else whole
        iterations = math.prod(a.args[1] for a in stage.inner[1:])
        if (count == 1 and not self.is_around) or iterations == 0 or stage.inner[0].args[1] == 0:
            return whole
        size = max(1, MANY_BLOCKS * BLOCK // iterations)
        size = min(size, -(-int(stage.inner[0].args[1]) // count))
        return SplitReduction([], self.stages, size, 0).statements(_inner_simd, _inner_simd)

    # --- merging -----------------------------------------------------------------------------------------------

    def _merge_loops(self) -> None:
        everything = [stage for stage in self.stages if stage.tasks]
        self._merge(self.outer, everything, set())
        if self.is_around:
            everything[1].inner = everything[0].inner
        for together in [everything] if self.is_around else [[stage] for stage in everything]:
            borders = {task.depth for stage in together for task in stage.tasks if task.root.combine}
            self._merge(together[0].inner, together, borders)

    def _merge(self, axes: list[Node], stages: list[StagePlan], borders: set[int]) -> None:
        """Merge neighbours among `axes`, but not across `borders`, where results end and what is folded begins."""
        k = len(axes) - 1
        while k > 0:
            if k not in borders and can_merge(computed(stages), axes[k - 1], axes[k]):
                both, replaced = merged(axes[k - 1], axes[k])
                axes[k - 1:k + 1] = [both]
                replace(stages, replaced)
                for stage in stages:
                    for task in stage.tasks:
                        task.depth -= axes is stage.inner and task.depth >= k
            k -= 1

    # --- which loop is vectorised ------------------------------------------------------------------------------------

    def _prefers_lane_simd(self) -> bool:
        """Is the last outer loop the one to be vectorised, in all stages?"""
        if not self.outer or not any(stage.inner for stage in self.stages):
            return False
        tasks = [task for stage in self.stages for task in stage.tasks]
        if any((task.remembered and task.depth) or any(b.space == "row" for b, _ in task.targets) for task in tasks):
            return are_short_rows(self.outer, self.stages)  # a row per lane is needed
        around = batches(self.outer, self.stages)
        return are_short_rows(self.outer, self.stages) or lanes_pay(self.outer, self.stages, around)


def _inner_simd(outer: Sequence[Node], stages: Sequence[StagePlan]) -> list[Stmt]:
    return InnerSimd(outer, stages).statements()
