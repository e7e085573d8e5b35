"""Elements that a loop reads backwards or at other distances, and that it would not read in vectors, are read in a loop
of their own.

    for j: y[j] = m[j] ? x[9 - j] : 0    is    for j: x_read[j] = x[9 - j]
                                               for j: y[j] = m[j] ? x_read[j] : 0

A loop has as many lanes as its narrowest elements have in a vector, and wider ones are some vectors each. gcc reverses
one vector, and makes no vectors of a loop in which several would have to be reversed, and exchanged.

    for j: y[j] = h[3*j] * h[3*j + 1]    is    for j: { h_read[j] = h[3*j];  h_read_1[j] = h[3*j + 1] }
                                               for j: y[j] = h_read[j] * h_read_1[j]

Of float16 gcc exchanges lanes as long as they are bits; what side by side lies in a strip is converted by instructions
(`half_strips.py`). Products of columns take 0.05 to 0.2 of the time, a cross product 0.3 (Zen 4).

Every fifth to seventh element of one or two bytes is picked out by `tt_pick_8` and `tt_pick_16` (`csrc/math/turned.h`):
lanes of so many vectors gcc does not exchange, but reads one element after the other. With AVX-512 bytes take 0.3 to
0.4 of the time, elements of two 0.6.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import rebuild, stride_along
from tinytrace.codegen.ir.kernel import Contents, Kernel
from tinytrace.codegen.ir.nodes import Node, load, number, rewrite, walk
from tinytrace.codegen.ir.procedures import picked
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Call, Combine, For, Row, Stmt, Store, expressions
from tinytrace.codegen.passes.strips import (
    folds_into_variables,
    fresh_name,
    from_zero,
    in_strips,
    map_vector_loops,
    without_variables,
)
from tinytrace.core.dtypes import FLOAT16, element_size

FEWEST = 16
"""Shorter loops are left as they are."""
LONGEST = 512
"""Elements of a strip."""
MOST = 8
"""So many readings of float16, or of what is picked out, at most are taken out of one loop."""
NARROW, PICKED = 4, range(5, 8)
"""Elements of fewer bytes are picked out at these distances."""


def read_strided_elements_first(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose vectorised loops read nothing backwards that is wider than other elements of theirs, and
    no float16 at distances."""
    taken: set[str] = set()
    return map_bodies(kernels, lambda body: map_vector_loops(body, lambda loop: _split(loop, taken)), keep_titles=True,
                      about=_may_be_split)


def _may_be_split(found: Contents) -> bool:
    buffers = [*found.reads, *found.writes]
    return len({element_size(buffer.dtype) for buffer in buffers}) > 1 or any(
        element_size(buffer.dtype) < NARROW for buffer in found.reads)


def _split(loop: For, taken: set[str]) -> list[Stmt]:
    whole = from_zero(loop)
    if whole is None or (extent := int(whole.axis.args[1])) < FEWEST:
        return [loop]
    body = without_variables(whole.body)
    if not _strided(body, whole.axis) or (folds_into_variables(body) and extent > LONGEST):
        return [loop]

    def loops(body: Sequence[Stmt], lane: Node, size: int) -> list[Stmt]:
        rows = {node: Buffer(fresh_name(f"{node.args[0].name}_read", taken), (size,), node.args[0].dtype, "row")
                for node in _strided(body, lane)}
        here = {node: load(row, lane, row.dtype) for node, row in rows.items()}
        together: dict[Buffer, list[Stmt]] = {}
        picks: list[Stmt] = []
        for node, row in rows.items():  # lanes of one array are exchanged together
            if _is_picked(node, lane):
                picks.append(_pick(node, row, lane, size))
            else:
                together.setdefault(node.args[0], []).append(Store((row, lane), node))
        bodies = [*together.values(), Replacement(here).of(body)]
        return [*map(Row, rows.values()), *picks,
                *(For(lane, number(0), number(size), inner, True, loop.independent) for inner in bodies)]

    first, *rest = in_strips(whole, body, LONGEST, loops)
    return [first, *(stmt for left in rest for stmt in (_split(left, taken) if isinstance(left, For) else [left]))]


def _is_picked(node: Node, lane: Node) -> bool:
    """Is this a reading of small elements at such distances?"""
    return element_size(node.args[0].dtype) < NARROW and stride_along(node.args[1], lane) in PICKED


def _pick(node: Node, row: Buffer, lane: Node, size: int) -> Call:
    array, offset = node.args[:2]
    stride = stride_along(offset, lane)
    assert stride is not None
    begin, = rewrite([offset], {lane: number(0)}, rebuild)
    procedure = picked(8 * element_size(array.dtype), stride, size)
    return Call(procedure, {"to": (row, number(0)), "from": (array, begin)}, ("to",))


def _strided(body: Sequence[Stmt], lane: Node) -> list[Node]:
    """Return the readings that are taken out of a loop: of elements that nothing in it changes."""
    roots = [root for stmt in body for root in expressions(stmt)]
    stored = [stmt.place[0] for stmt in body if isinstance(stmt, (Store, Combine)) and isinstance(stmt.place, tuple)]
    written = {buffer.name for buffer in stored}
    read = [node for node in walk(roots, certain=True) if node.op == "load" and lane in node.axes
            and node.args[0].name not in written and node.args[0].space != "row"]
    everything = [node.args[0] for node in walk(roots) if node.op == "load" and lane in node.axes]
    narrowest = min((element_size(buffer.dtype) for buffer in (*stored, *everything)), default=0)
    backwards = [node for node in read
                 if stride_along(node.args[1], lane) == -1 and element_size(node.args[0].dtype) > narrowest]
    halves = [node for node in read if node.args[0].dtype == FLOAT16
              and stride_along(node.args[1], lane) not in (None, 0, 1) and node not in backwards]
    picks = [node for node in read if _is_picked(node, lane) and node not in halves]
    if len(picks) > MOST:
        picks = []
    if len(halves) > MOST or not any(node.op == "apply" and FLOAT16 in node.args[0].operands
                                     and not node.args[0].sign_bit for node in walk(roots)):
        halves = [node for node in halves if _is_picked(node, lane)][:MOST]
    return [*backwards, *halves, *picks]
