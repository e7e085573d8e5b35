"""Which axis is computed side by side: the innermost of a fold, or one of its result; and operands packed to suit it.

A vector load wants neighbours in memory. Loads that jump are counted for both choices, those that jump far twice: where
places are at most four apart a vector's elements are in few vectors. One that is needed again and again, for every
iteration of other loops, may jump once more and be copied into the order in which it is read: before all loops, or, for
each of many products, inside of the loops over these, onto the thread's stack.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from tinytrace.codegen.ir.arithmetic import flat_offset, stride_along
from tinytrace.codegen.ir.nodes import Node, load, number, walk
from tinytrace.codegen.ir.statements import Buffer, For, Row, Stmt
from tinytrace.codegen.schedule.copies import loops_that_store
from tinytrace.codegen.schedule.tasks import StagePlan, computed, replace
from tinytrace.core.dtypes import is_float

FEWEST_USES = 8
"""Operands that are read in at least so many iterations of other loops are worth packing."""
FEWEST_STEPS = 16
"""Steps that all uses together take in a stack where folds are short: then fewer are worth it."""
MOST_PACKED = 1 << 16
"""Elements of a packed operand: it stays in a core's cache."""
MOST_ON_STACK = 1 << 12
"""The same of one that is packed for each product of a stack."""
SHORT_FOLD = 128
"""Folding fewer elements than this side by side leaves more work to the end of the fold than to the fold."""
NEAR, FAR = 1, 2
"""What a load counts whose next element lies a few places on, as the next point's does, and one whose lies anywhere."""
FEW_PLACES = 4
"""Elements from one to the next of which a compiler takes several from one vector."""
FEWEST_AROUND = 8
"""Lanes around a fold of `FEW_PLACES` elements, which carry vectors as it lies (`passes/short_axes.py`), at least."""
FEWEST_LANES = 16
"""Lanes that are no more than a choice: where the fold itself reads neighbours, fewer results are not worth them."""
FEWEST_LANES_OF_BATCHES = 4
"""The same of products in a stack, where each result's fold would end in so many steps."""


def lanes_pay(outer: Sequence[Node], stages: Sequence[StagePlan], around: Sequence[Node]) -> bool:
    """Are loops better vectorised along the last of `outer` than along the innermost of each stage?

    around: the first of `outer`, in each iteration of which operands may be packed anew; see `batches`.
    """
    lane = outer[-1]
    inner_jumps = lane_jumps = 0
    for stage in stages:
        for node in _inner_loads(stage):
            inner_jumps += _jumps(node, stage.inner[-1])
            lane_jumps += 0 if _is_packable(node, outer, stage, around) else _jumps(node, lane)
    if any(task.root.running for stage in stages for task in stage.tasks):
        return not lane_jumps  # folds one after the other wait for each other
    if lane_jumps or lane_jumps < inner_jumps:
        return lane_jumps < inner_jumps
    short = max(stage.inner[-1].args[1] for stage in stages if stage.inner) < SHORT_FOLD
    loads = [(node, stage) for stage in stages for node in _inner_loads(stage)]
    if short and any(_is_packable(node, outer, stage, around) for node, stage in loads):
        return bool(lane.args[1] >= (FEWEST_LANES_OF_BATCHES if around else FEWEST_LANES))
    return lane.args[1] >= FEWEST_LANES and any(_slides(node, lane, stage) for node, stage in loads)


def lanes_last(outer: Sequence[Node], stages: Sequence[StagePlan]) -> list[Node]:
    """Return `outer` with that axis last along which all that a long fold repeats lies side by side, if one does so.

    Results that are stored at a distance then are few. The gradient of a kernel for each channel has 3x3 results of
    each channel: the channels lie side by side, of neither the kernel's axes nor those of the fold do neighbours.
    """
    as_it_is = list(outer)
    folds = [stage for stage in stages if stage.inner]
    if len(outer) < 2 or len(folds) != len(stages) or any(t.depth or t.root.running for s in folds for t in s.tasks):
        return as_it_is
    loads = [(node, stage.inner[-1]) for stage in folds for node in _inner_loads(stage)]
    if min(math.prod(a.args[1] for a in stage.inner) for stage in folds) < SHORT_FOLD \
            or not sum(_jumps(node, outer[-1]) for node, _ in loads) or not all(_jumps(*load) for load in loads):
        return as_it_is
    side_by_side = [a for a in outer if a.args[1] >= FEWEST_LANES and all(
        stride_along(node.args[1], a) == 1 for node, _ in loads)]
    return as_it_is if len(side_by_side) != 1 else [*(a for a in outer if a is not side_by_side[0]), *side_by_side]


def with_packed(outer: Sequence[Node], stages: Sequence[StagePlan],
                loops: Callable[[Sequence[Node], Sequence[StagePlan]], list[Stmt]]) -> list[Stmt]:
    """Return the `loops` of `stages`, which read packed operands where that helps, after those that pack them."""
    around = batches(outer, stages)
    body = packed(outer, stages, around)
    if not body:
        return loops(outer, stages)
    body += loops(outer[len(around):], stages)
    for a in reversed(around):
        body = [For(a, number(0), number(a.args[1]), body, independent=True)]
    return body


def packed(outer: Sequence[Node], stages: Sequence[StagePlan], around: Sequence[Node]) -> list[Stmt]:
    """Let `stages` read packed operands; Returns the loops that pack them, inside of the loops `around` them."""
    copies: list[Stmt] = []
    lane = outer[-1]
    for stage in stages:
        changed: dict[Node, Node] = {}
        for node in _inner_loads(stage):
            if _jumps(node, lane) and _is_packable(node, outer, stage, around):
                source: Buffer = node.args[0]
                axes = (*(a for a in stage.inner if a in node.axes), *([lane] if lane in node.axes else []))
                name = f"{stage.tasks[0].name}_of_{source.name}" + (f"_{len(copies)}" if copies else "")
                array = Buffer(name, tuple(a.args[1] for a in axes), source.dtype, "row" if around else "workspace")
                copies += [Row(array)] if around else []
                copies += loops_that_store(node, axes, array)
                changed[node] = load(array, flat_offset(axes, array.shape), source.dtype)
        replace([stage], changed)
    return copies


def batches(outer: Sequence[Node], stages: Sequence[StagePlan]) -> list[Node]:
    """Return the first of `outer` along which all that folds repeat is another for each iteration: a stack of products.

    What each of these packs is on the stack, for they may run on several threads.
    """
    loads = [node for stage in stages for node in _inner_loads(stage)]
    if not all(stage.inner for stage in stages) or any(task.depth for stage in stages for task in stage.tasks):
        return []
    return list(itertools.takewhile(lambda a: all(a in node.axes for node in loads), outer[:-2]))


def packed_rows(outer: Sequence[Node], stages: Sequence[StagePlan]) -> list[Stmt]:
    """Let loops without inner ones read packed what all rows of their results read at a distance: a diagonal."""
    copies: list[Stmt] = []
    lane = outer[-1]
    if math.prod(a.args[1] for a in outer[:-1]) < FEWEST_USES or any(stage.inner for stage in stages):
        return copies
    for node in walk(computed(stages), certain=True):
        if node.op == "load" and node.axes == {lane} and stride_along(node.args[1], lane) not in (0, 1, None) \
                and lane.args[1] <= MOST_PACKED and node.args[0].space != "row":
            array = Buffer(f"{stages[0].tasks[0].name}_of_{node.args[0].name}" + (f"_{len(copies)}" if copies else ""),
                           (lane.args[1],), node.args[0].dtype, "workspace")
            copies += loops_that_store(node, (lane,), array)
            replace(stages, {node: load(array, lane, node.args[0].dtype)})
    return copies


def _inner_loads(stage: StagePlan) -> list[Node]:
    """Return the loads that the inner loops of a stage repeat."""
    inner = frozenset(stage.inner)
    return [node for node in walk(computed([stage])) if node.op == "load" and inner & node.axes]


def _slides(node: Node, lane: Node, stage: StagePlan) -> bool:
    """Does a load move a window by one for the next lane, so that both read neighbours?"""
    return stride_along(node.args[1], lane) == stride_along(node.args[1], stage.inner[-1]) == 1


def _jumps(node: Node, a: Node) -> int:
    """Return what a load costs more along an axis than one of neighbours."""
    stride = stride_along(node.args[1], a)
    if stride in (0, 1):
        return 0
    return NEAR if stride is not None and abs(stride) <= FEW_PLACES else FAR


def _is_packable(node: Node, outer: Sequence[Node], stage: StagePlan, around: Sequence[Node]) -> bool:
    """Does a load depend on the lane, the inner loops and those `around` alone, and do the others read it often?

    A choice may guard a load that lies outside of its array, and copies ask nobody: it is read for certain.
    """
    own, lane = {outer[-1], *stage.inner}, outer[-1]
    uses = math.prod(a.args[1] for a in outer[len(around):-1])
    size, most = math.prod(a.args[1] for a in node.axes & own), MOST_ON_STACK if around else MOST_PACKED
    if around and uses <= FEWEST_USES and _jumps(node, lane) == NEAR and lane.args[1] >= FEWEST_AROUND:
        return False
    fold = math.prod(a.args[1] for a in stage.inner)
    is_short = len(around) > 0 and uses > 1 and uses * fold >= FEWEST_STEPS and fold <= _few(node)
    return node.axes <= own | {*around} and (uses >= FEWEST_USES or is_short) and size <= most \
        and node.args[0].space != "row" and node in walk(computed([stage]), certain=True)


def _few(node: Node) -> int:
    """Return how many elements are too few to be folded side by side: sums of floats end in more steps."""
    return FEWEST_LANES if node.dtype is not None and is_float(node.dtype) else FEWEST_LANES - 1


