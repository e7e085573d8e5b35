"""Loads that depend on conditions and lie side by side: loops with several of them are left without vectors.

    for i < 5: { y[4*i] = i >= 1 ? x[3*i] : 0;  y[4*i + 1] = i >= 1 ? x[3*i + 1] : 0; ... }

gcc 12 makes one load of a group of these, whose lanes get each other's conditions (GROUPED_LOADS in quirks.py, with a
program that shows it): elements that should be read are 0.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.arithmetic import stride_along
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import Buffer, Combine, For, Stmt, Store, When, expressions, nested

UNROLLED = 16
"""Loops with so few iterations may be written out by the compiler."""


def has_grouped_loads(loop: For) -> bool:
    """May the compiler group conditional loads (or stores) of iterations of an inner loop or of several lines?"""
    if any(isinstance(stmt, For) and stmt.axis.args[1] > UNROLLED for stmt in nested(loop.body)):
        return False
    groups: Counter[tuple[Buffer, int]] = Counter()
    for buffer, offset, times in _conditional(loop.body, 1, False):
        stride = stride_along(offset, loop.axis)
        if stride is not None and abs(stride) > 1:
            groups[buffer, stride] += times
    return any(count > 1 for count in groups.values())


def _conditional(body: Sequence[Stmt], times: int, guarded: bool) -> Iterator[tuple[Buffer, Node, int]]:
    """Yield the places that are read or written only where a condition holds, and how often in an iteration."""
    for stmt in body:
        if isinstance(stmt, For):
            yield from _conditional(stmt.body, times * stmt.axis.args[1], guarded)
        elif isinstance(stmt, When):
            yield from _conditional(stmt.body, times, True)
        roots = expressions(stmt)
        certain = set() if guarded else set(walk(roots, certain=True))
        for node in walk(roots):
            if node.op == "load" and node not in certain:
                yield node.args[0], node.args[1], times
        if guarded and isinstance(stmt, (Store, Combine)) and not isinstance(stmt.place, Node):
            yield *stmt.place, times
