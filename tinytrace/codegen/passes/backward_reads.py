"""Elements that a loop reads backwards, beside narrower ones, are read in a loop of their own.

    for j: y[j] = m[j] ? x[9 - j] : 0    is    for j: x_read[j] = x[9 - j]
                                               for j: y[j] = m[j] ? x_read[j] : 0

A loop has as many lanes as its narrowest elements have in a vector, and wider ones are some vectors each. gcc reverses
one vector, and makes no vectors of a loop in which several would have to be reversed, and exchanged.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import stride_along
from tinytrace.codegen.ir.kernel import Contents, Kernel
from tinytrace.codegen.ir.nodes import Node, load, number, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Combine, For, Row, Stmt, Store, expressions
from tinytrace.codegen.passes.strips import (
    folds_into_variables,
    fresh_name,
    from_zero,
    in_strips,
    map_vector_loops,
    without_variables,
)
from tinytrace.core.dtypes import element_size

FEWEST = 16
"""Shorter loops are left as they are."""
LONGEST = 1024
"""Elements of a strip."""


def read_backwards_first(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose vectorised loops read nothing backwards that is wider than other elements of theirs."""
    taken: set[str] = set()
    return map_bodies(kernels, lambda body: map_vector_loops(body, lambda loop: _split(loop, taken)), keep_titles=True,
                      about=_has_several_sizes)


def _has_several_sizes(found: Contents) -> bool:
    return len({element_size(buffer.dtype) for buffer in (*found.reads, *found.writes)}) > 1


def _split(loop: For, taken: set[str]) -> list[Stmt]:
    whole = from_zero(loop)
    if whole is None or (extent := int(whole.axis.args[1])) < FEWEST:
        return [loop]
    body = without_variables(whole.body)
    if not _backwards(body, whole.axis) or (folds_into_variables(body) and extent > LONGEST):
        return [loop]

    def loops(body: Sequence[Stmt], lane: Node, size: int) -> list[Stmt]:
        rows = {node: Buffer(fresh_name(f"{node.args[0].name}_read", taken), (size,), node.args[0].dtype, "row")
                for node in _backwards(body, lane)}
        here = {node: load(row, lane, row.dtype) for node, row in rows.items()}
        bodies: list[list[Stmt]] = [[Store((row, lane), node)] for node, row in rows.items()]
        bodies.append(Replacement(here).of(body))
        return [*map(Row, rows.values()),
                *(For(lane, number(0), number(size), inner, True, loop.independent) for inner in bodies)]

    first, *rest = in_strips(whole, body, LONGEST, loops)
    return [first, *(stmt for left in rest for stmt in (_split(left, taken) if isinstance(left, For) else [left]))]


def _backwards(body: Sequence[Stmt], lane: Node) -> list[Node]:
    """Return the readings that are taken out of a loop: those of wide elements that nothing in it changes."""
    roots = [root for stmt in body for root in expressions(stmt)]
    stored = [stmt.place[0] for stmt in body if isinstance(stmt, (Store, Combine)) and isinstance(stmt.place, tuple)]
    read = [node.args[0] for node in walk(roots) if node.op == "load" and lane in node.axes]
    narrowest = min((element_size(buffer.dtype) for buffer in (*stored, *read)), default=0)
    written = {buffer.name for buffer in stored}
    return [node for node in walk(roots, certain=True)
            if node.op == "load" and stride_along(node.args[1], lane) == -1
            and element_size(node.args[0].dtype) > narrowest and node.args[0].name not in written]
