"""Which loops run on several threads: those with independent iterations whose work is worth waking a thread for.

The decision depends on the program alone, never on the number of threads, so results do not either.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tinytrace.codegen.ir.arithmetic import constant_of, subtract
from tinytrace.codegen.ir.kernel import (
    Call,
    Combine,
    For,
    Kernel,
    Stmt,
    Store,
    When,
    expressions,
    map_bodies,
    nested,
    operations,
)
from tinytrace.codegen.ir.nodes import Node, walk

WORTH_SPREADING = 50_000.0
"""Nanoseconds of work below which a loop stays on the caller's thread."""
PIECE = 12_000.0
"""Nanoseconds of work that a thread takes at least."""

MOST_PIECES = 64
MANY_PRODUCTS = 8
"""From how many matrix products on threads take whole ones, not blocks."""
FLOPS = 100
"""Operations of a matrix product in a nanosecond, on one thread."""
LONG = 120
"""A loop with more expressions than this in it is a function: functions can be compiled at the same time."""

LOAD, STORE, OPERATION, CALL = 0.10, 0.13, 0.03, 0.30
"""What one element costs in nanoseconds, in vectorised loops over arrays larger than the caches."""


def spread_over_threads(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Give the outermost loops that are worth it a grain: they become functions; long ones do, if in one piece."""
    return map_bodies(kernels, lambda body: [_spread(stmt) if isinstance(stmt, For) and stmt.independent else stmt
                                             for stmt in body])


def _spread(loop: For) -> For:
    grain = _grain(loop)
    return replace(loop, grain=grain) if grain else loop


def _grain(loop: For) -> int:
    """Return how many iterations one thread takes at least; 0: the loop stays on the caller's thread."""
    extent = int(loop.axis.args[1])
    if _calls(loop.body):
        return _grain_of_products(loop)
    total = duration([loop])
    if extent < 2:
        return 0
    if total >= WORTH_SPREADING:
        grain = -(-extent // _even(total / PIECE))
        return -(-grain // 64) * 64 if loop.simd else grain
    return extent if len(walk(root for inner in nested(loop.body) for root in expressions(inner))) > LONG else 0


def _grain_of_products(loop: For) -> int:
    """Let threads take whole products where there are many: blocks of one product would each pack their operands."""
    nanoseconds = operations([loop]) / FLOPS
    if loop.axis.args[1] < MANY_PRODUCTS or nanoseconds < WORTH_SPREADING:
        return 0
    products = all(isinstance(stmt, Call) and stmt.rows for stmt in nested(loop.body) if not isinstance(stmt, For))
    return math.ceil(PIECE * loop.axis.args[1] / nanoseconds) if products else 0


def _even(pieces: float) -> int:
    """Return the largest power of two up to `pieces`: so many can be shared out evenly."""
    return 1 << min(int(pieces), MOST_PIECES).bit_length() - 1


def pieces(nanoseconds: float) -> int:
    """Return into how many pieces a fold of everything is cut that takes so long on one thread."""
    return 1 if nanoseconds < WORTH_SPREADING else min(MOST_PIECES, int(nanoseconds / PIECE))


def duration(body: Sequence[Stmt], times: float = 1.0) -> float:
    """Return about how many nanoseconds statements take on one thread."""
    total = 0.0
    for stmt in body:
        total += times * _once(stmt)
        if isinstance(stmt, For):
            total += duration(stmt.body, times * stmt.axis.args[1])
        elif isinstance(stmt, When):
            total += duration(stmt.body, times)
    return total


def _once(stmt: Stmt) -> float:
    cost = STORE if isinstance(stmt, (Store, Combine)) else 0.0
    streams: dict[object, Node] = {}
    for node in walk(expressions(stmt)):
        if node.op == "load":
            first = streams.setdefault(node.args[0], node.args[1])
            behind = first is not node.args[1] and constant_of(subtract(node.args[1], first)) is not None
            cost += OPERATION if behind else LOAD  # at a fixed distance from another it comes from the first cache
        elif node.op == "apply":
            cost += CALL if "tt_" in node.args[0] else OPERATION
    return cost


def _calls(body: Sequence[Stmt]) -> bool:
    """Is something called that spreads over the threads itself?"""
    return any(isinstance(stmt, Call) or (isinstance(stmt, (For, When)) and _calls(stmt.body)) for stmt in body)
