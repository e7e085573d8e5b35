"""Small elements that lie at computed places are read in a loop of their own.

    for j: y[j] = f(a[i[j]])    is    for j: a_read[j] = a[i[j]]
                                      for j: y[j] = f(a_read[j])

CPUs have instructions that read a vector of elements of 4 or 8 bytes from anywhere, and none for 1 or 2 bytes: a loop
with such a reading in it has no vectors at all. So has the computation of the places a loop of its own, if it is one.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, stride_along
from tinytrace.codegen.ir.cost import steps
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, load, number, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Buffer,
    Combine,
    For,
    Row,
    Stmt,
    Store,
    expressions,
)
from tinytrace.codegen.passes.strips import (
    folds_into_variables,
    fresh_name,
    in_strips,
    map_vector_loops,
    without_variables,
)
from tinytrace.core.dtypes import element_size

NARROW = 4
"""Elements of fewer bytes have no vectors of readings."""
FEWEST = 16
"""Shorter loops are left as they are."""
LONGEST = 1024
"""Elements of a strip."""
WORTH = 2
"""Steps of work, besides that on places, from which a loop of their own is worth it."""
MOST = 4
"""So many readings at most are taken out of one loop."""


def read_narrow_elements_first(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose vectorised loops read no small elements from computed places."""
    taken: set[str] = set()
    return map_bodies(kernels, lambda body: map_vector_loops(body, lambda loop: _split(loop, taken)), keep_titles=True,
                      about=lambda found: found.touches(lambda buffer: element_size(buffer.dtype) < NARROW))


def _split(loop: For, taken: set[str]) -> list[Stmt]:
    extent = int(loop.axis.args[1])
    if extent < FEWEST or constant_of(loop.begin) != 0 or constant_of(loop.end) != extent:
        return [loop]
    body = without_variables(loop.body)
    if not _gathers(body, loop.axis) or (folds_into_variables(body) and extent > LONGEST):
        return [loop]

    def loops(body: Sequence[Stmt], lane: Node, size: int) -> list[Stmt]:
        gathers = _gathers(body, lane)
        places = {node: node.children[0] for gather in gathers for node in walk(gather.children)
                  if node.op == "index" and any(inner.op == "apply" for inner in walk(node.children))}
        first = {element: _row(element, "place", size, taken) for element in places.values()}
        there = {element: load(row, lane, row.dtype) for element, row in first.items()}
        second = {gather: _row(gather, "read", size, taken) for gather in gathers}
        here = {gather: load(row, lane, row.dtype) for gather, row in second.items()}
        bodies: list[tuple[list[Stmt], bool]] = [
            ([Store((row, lane), element) for element, row in first.items()], True),
            (Replacement(there).of([Store((row, lane), gather) for gather, row in second.items()]), False),
            (Replacement(here).of(body), True)]
        rows: list[Stmt] = [Row(row) for row in (*first.values(), *second.values())]
        return [*rows, *(For(lane, number(0), number(size), inner, simd, loop.independent or not simd)
                         for inner, simd in bodies if inner)]

    return in_strips(loop, body, LONGEST, loops)


def _gathers(body: Sequence[Stmt], lane: Node) -> list[Node]:
    """Return the readings that are taken out of a loop; none, if it does not pay or changes what they read."""
    nodes = walk(root for stmt in body for root in expressions(stmt))
    found = [node for node in nodes if node.op == "load" and lane in node.axes
             and element_size(node.args[0].dtype) < NARROW and stride_along(node.args[1], lane) is None]
    inside = {inner for node in found for inner in walk(node.children)}
    work = sum(steps(node.args[0]) for node in nodes
               if node.op == "apply" and not node.args[0].is_conversion and node not in inside)
    written = {stmt.place[0].name for stmt in body
               if isinstance(stmt, (Store, Combine)) and isinstance(stmt.place, tuple)}
    early = {node.args[0].name for node in (*found, *inside) if node.op == "load"}
    if len(found) > MOST or work < WORTH or written & early or any(node.op == "where" for node in nodes) \
            or any(node in inside for node in found):
        return []
    return found


def _row(node: Node, what: str, size: int, taken: set[str]) -> Buffer:
    assert node.dtype is not None
    name = node.args[0].name if node.op == "load" else node.hint or "value"
    return Buffer(fresh_name(f"{name}_{what}", taken), (size,), node.dtype, "row")
