"""Folds over leading axes of what streams by once: whole rows are folded, groups of rows on several threads.

    for group: { s[..] = 0; for i in group: for lane simd: s[lane] += x[i, lane];  s_partials[group, ..] = s[..] }
    s[..] = 0; for group: for lane simd: s[lane] += s_partials[group, lane];  for lane simd: y[lane] = f(s[lane])
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import rebuild
from tinytrace.codegen.ir.nodes import Node, rewrite
from tinytrace.codegen.ir.statements import Stmt
from tinytrace.codegen.schedule.lane_simd import STREAM_LANES, LaneSimd, are_short_rows, uses_again
from tinytrace.codegen.schedule.split_reduction import SplitReduction, are_around, is_whole
from tinytrace.codegen.schedule.tasks import StagePlan, variable
from tinytrace.records import replace

GROUP_ROWS = 256
"""Rows that are folded at once: enough to make the second fold short, few enough to keep several threads busy."""
ROW_BYTES = 16 * 1024
"""What lies side by side in a row, of all results together: half of a core's first cache."""


def fold_columns(outer: Sequence[Node], stages: Sequence[StagePlan], suffix: str = "") -> list[Stmt]:
    """Return the loops of stages whose last outer axis becomes lanes; `suffix` is for names."""
    if are_short_rows(outer, stages):
        return LaneSimd(outer, stages, together=True).statements()
    folds = _folds(stages)
    rows = math.prod(a.args[1] for a in folds[0].inner)
    if rows < 2 * GROUP_ROWS or not _may_be_cut(folds) or uses_again(outer, stages):
        return LaneSimd(outer, stages).statements()
    size = max(1, GROUP_ROWS // math.prod(a.args[1] for a in folds[0].inner[1:]))
    lanes = max(STREAM_LANES, ROW_BYTES // sum(int(t.root.var.aval.dtype.itemsize) for s in folds for t in s.tasks))

    def whole(outer: list[Node], folded: list[StagePlan]) -> list[Stmt]:
        made = iter(folded)
        return fold_columns(outer, [next(made) if stage.inner else stage for stage in stages], f"{suffix}_again")

    return SplitReduction(outer, folds, size, len(outer) - 1, suffix).statements(
        lambda outer, stages: LaneSimd(outer, stages, lanes=lanes).statements(), whole)


def _folds(stages: Sequence[StagePlan]) -> list[StagePlan]:
    """Return the stages that fold; what others between them compute of the results is written out in them."""
    known: dict[Node, Node] = {}
    folds: list[StagePlan] = []
    for stage in stages:
        tasks = [replace(task, value=rewrite([task.value], known, rebuild)[0]) for task in stage.tasks]
        if stage.inner:
            folds.append(StagePlan(stage.inner, tasks))
        else:
            known |= {variable(task): task.value for task in tasks}
    return folds


def _may_be_cut(folds: Sequence[StagePlan]) -> bool:
    """Does one stage fold, or a second one around totals of the first?"""
    first, *others = folds
    return all(is_whole(task) and not task.root.running for task in first.tasks) \
        and all(are_around(stage, first) for stage in others) and len(others) < 2
