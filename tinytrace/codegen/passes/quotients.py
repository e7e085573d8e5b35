"""Loops whose index is divided are cut at the divisor: repeated and tiled arrays, and what a reshape joins.

    for i < 4 * n: y[i] = x[i / 4]     is    for q < n: { y[4 * q] = x[q]; y[4 * q + 1] = x[q]; ... }
    for i < 4 * n: y[i] = x[i % n]     is    for r < n: { y[r] = x[r]; y[n + r] = x[r]; ... }
    for i < m * n: y[i] = x[i % n]     is    for q < m: for r < n: y[n * q + r] = x[r]

Quotient and remainder are loop variables then, and neighbours in memory stay neighbours in vectors: a division of each
index costs more than the copy, whose time is the limit.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, linear
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, number, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import For, Stmt, Store, expressions, with_body
from tinytrace.codegen.passes.streaming_stores import LARGER_THAN_CACHES
from tinytrace.codegen.schedule.collapse import WRITTEN_OUT

FEWEST_REMAINDERS, FEWEST_LANES = 4, 16
"""Of so many iterations at least is what remains a loop, or one whose remainders are written out."""


def split_quotients(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose vectorised loops divide no index by what divides their extent."""
    return map_bodies(kernels, _split, about=lambda found: not found.operators.isdisjoint(("floordiv", "mod")))


def _split(body: Sequence[Stmt]) -> list[Stmt]:
    return [stmt if not isinstance(stmt, For) else _cut(stmt) if stmt.simd else with_body(stmt, _split(stmt.body))
            for stmt in body]


def _cut(loop: For) -> For:
    divisor = _divisor(loop)
    if not divisor:
        return loop
    name, extent = str(loop.axis.args[0]), int(loop.axis.args[1])
    q, r = axis(f"{name}_quotient", extent // divisor), axis(name, divisor)
    if q.args[1] <= WRITTEN_OUT and not any(isinstance(stmt, Store) and isinstance(stmt.place, tuple)
                                            and stmt.place[0].nbytes >= LARGER_THAN_CACHES for stmt in loop.body):
        return _over(loop, r, [linear(k * divisor, [(r, 1)]) for k in range(q.args[1])])
    if divisor <= WRITTEN_OUT:
        return _over(loop, q, [linear(k, [(q, divisor)]) for k in range(divisor)])
    inner = _over(loop, r, [linear(0, [(q, divisor), (r, 1)])])
    return For(q, number(0), number(q.args[1]), [inner], independent=loop.independent)


def _over(loop: For, lane: Node, places: Sequence[Node]) -> For:
    """Return the loop over `lane` that does for each of `places` what `loop` does there."""
    body = [stmt for place in places for stmt in Replacement({loop.axis: place}).of(loop.body)]
    return For(lane, number(0), number(lane.args[1]), body, simd=True, independent=loop.independent)


def _divisor(loop: For) -> int:
    """Return where to cut a loop that only stores elements; 0: nowhere."""
    extent = int(loop.axis.args[1])
    if constant_of(loop.begin) != 0 or constant_of(loop.end) != extent \
            or not all(isinstance(stmt, Store) and isinstance(stmt.place, tuple) for stmt in loop.body):
        return 0
    found = {constant_of(node.args[1]) for node in walk(root for stmt in loop.body for root in expressions(stmt))
             if node.op in ("floordiv", "mod") and node.args[0] is loop.axis}
    divisor = found.pop() if len(found) == 1 else None
    if not divisor or extent % divisor:
        return 0
    fits = divisor >= FEWEST_REMAINDERS or (divisor <= WRITTEN_OUT and extent // divisor >= FEWEST_LANES)
    return divisor if fits else 0
