"""Loops are cut where a guard changes its mind, so that no guard is left inside: the edges of a stencil, a pad, a join.

    for i < n: y[i] = 1 <= i ? f(i) : x[i]    is    y[0] = x[0]; for 1 <= i < n: y[i] = f(i)

Where there are many changes they lie together, as at the edges of a wide window: a few iterations between the first of
them and the last keep their guards, and the loop is cut around these. Arrays that are joined have loops of their own,
rows of a few elements too where no operation is written twice for that.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, subtract, terms_of
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis_between, number, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Call,
    Declare,
    For,
    Inclusive,
    Row,
    Stmt,
    When,
    expressions,
    nested,
    with_body,
)
from tinytrace.codegen.plan.lowering import MOST_CUTS, WRITTEN_OUT

COMPARISONS = "lt", "le", "eq"
FEWEST_ITERATIONS = 16
"""Shorter loops are not cut, unless they are so short that they are written out, or have longer ones inside."""
MOST_JOINED = 17
"""Fewer than so many arrays that are joined have loops of their own."""
MOST_OPERATIONS = 400
"""A loop with more than this in it, over all of its segments, is not cut."""


def split_index_sets(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops are cut into segments where that removes guards."""
    return map_bodies(kernels, split_at_guards, about=lambda found: not found.operators.isdisjoint(COMPARISONS))


def split_at_guards(body: Sequence[Stmt]) -> list[Stmt]:
    """Return statements with their loops cut into segments where that removes guards."""
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            for segment in _segments(stmt):
                if isinstance(segment, For):
                    result.append(with_body(segment, split_at_guards(segment.body)))
                else:
                    result += split_at_guards([segment]) if isinstance(segment, When) else [segment]
        else:
            result.append(stmt)
    return result


def _segments(loop: For) -> list[Stmt]:
    axis, extent = loop.axis, loop.axis.args[1]
    inside = list(nested(loop.body))
    if constant_of(loop.begin) != 0 or constant_of(loop.end) != extent \
            or any(isinstance(stmt, Call) for stmt in inside):
        return [loop]
    nodes = _nodes(loop.body)
    cuts = sorted({place for node in nodes for place in _changes(node, axis) if 0 < place < extent})
    if MOST_CUTS < len(cuts) < MOST_JOINED:
        segments = _cut(loop, cuts)
        parts = [_nodes([segment]) for segment in segments]
        repeats = sum(map(_operations, parts)) > _operations(nodes)
        if sum(map(len, parts)) <= MOST_OPERATIONS and (_joins(cuts, extent) or not repeats):
            return segments
    short = WRITTEN_OUT < extent < FEWEST_ITERATIONS and not any(
        isinstance(stmt, For) and stmt.axis.args[1] >= FEWEST_ITERATIONS for stmt in inside)
    if len(cuts) > MOST_CUTS:
        cuts = _around_edges(cuts, extent)
    if short or not cuts or len(cuts) > MOST_CUTS or len(nodes) * (len(cuts) + 1) > MOST_OPERATIONS:
        return [loop]
    return _cut(loop, list(range(1, extent)) if extent <= WRITTEN_OUT else cuts)


def _nodes(body: Sequence[Stmt]) -> Sequence[Node]:
    return walk(root for stmt in nested(body) for root in expressions(stmt))


def _operations(nodes: Sequence[Node]) -> int:
    return sum(node.op == "apply" for node in nodes)


def _joins(cuts: list[int], extent: int) -> bool:
    """Are these the cuts of many arrays that are joined: one by one, as `stack` does, or in rows?"""
    gaps = [b - a for a, b in zip([0, *cuts], [*cuts, extent], strict=True)]
    return len(cuts) == extent - 1 or min(gaps) >= FEWEST_ITERATIONS


def _cut(loop: For, cuts: list[int]) -> list[Stmt]:
    axis = loop.axis
    has_variables = any(isinstance(stmt, (Declare, Row)) for stmt in loop.body)
    segments: list[Stmt] = []
    for begin, end in zip([0, *cuts], [*cuts, axis.args[1]], strict=True):
        if end - begin == 1 and not has_variables:  # else two iterations would declare the same names side by side
            iteration = Replacement({axis: number(begin)}).of(loop.body)
            segments += [stmt for stmt in iteration if not isinstance(stmt, Inclusive)]  # which speaks to loops
        else:
            part = axis_between(axis.args[0], begin, end)
            changed = Replacement({axis: part}).of(loop.body)
            segments.append(For(part, number(begin), number(end), changed, loop.simd, loop.independent))
    return segments


def _around_edges(cuts: list[int], extent: int) -> list[int]:
    """Return where to cut a loop so that cuts with few iterations between them are in one segment."""
    starts = [k for k, place in enumerate(cuts) if k == 0 or place - cuts[k - 1] >= FEWEST_ITERATIONS]
    bunches = [cuts[a:b] for a, b in zip(starts, [*starts[1:], len(cuts)], strict=True)]
    kept = {place for bunch in bunches for place in (bunch[0], bunch[-1])}
    if cuts[0] < FEWEST_ITERATIONS:
        kept.discard(cuts[0])
        kept.add(bunches[0][-1])
    if extent - cuts[-1] < FEWEST_ITERATIONS:
        kept.discard(cuts[-1])
        kept.add(bunches[-1][0])
    return sorted(kept)


def _changes(node: Node, axis: Node) -> list[int]:
    """Return where a guard on `axis` alone changes its value, as `axis` grows."""
    if node.op not in COMPARISONS:
        return []
    constant, terms = terms_of(subtract(*node.args))
    if len(terms) != 1 or terms[0][0] is not axis:
        return []
    factor = terms[0][1]
    zero, rest = divmod(-constant, factor)  # both sides are equal at `zero`, if nothing is left
    if node.op == "eq":
        return [] if rest else [zero, zero + 1]
    return [zero + bool(rest or (node.op == "le") == (factor > 0))]
