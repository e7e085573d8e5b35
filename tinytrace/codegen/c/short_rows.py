"""Rows on the stack that are to be registers: loops over them are unrolled, unless they are one vector anyway.

    float k_row[64];                                  four vectors of 512 bits
    for (int64_t i = 0; i < 64; i++)
        for (int64_t lane = 0; lane < 64; lane++)     unrolled, so that they stay in registers in each turn of i
            k_row[lane] = fma(e[64 * i + lane], x[i], k_row[lane]);

gcc unrolls all short loops of a program then, the loop over i too if it is short: that takes it a quarter of its time,
and more rows are loaded ahead than there are registers. Where rows fit into a vector they are registers anyway, and
only loops of very few turns that update one from turn to turn are unrolled: a product of 8x8 takes 0.65 of the time so.
A loop whose rows are its own, or are read alone, is not: `softmax` of 8x16 takes gcc half of the time so, and itself.
Nor is a loop that fills a row with the results of long folds, one in each turn: unrolled, gcc makes no vectors of the
folds, which take five times as long.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.kernel import Kernel, Nest, inner_programs
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import Buffer, For, Row, Stmt, expressions, nested, written
from tinytrace.codegen.passes.half_strips import REGISTERS
from tinytrace.codegen.schedule.lane_simd import TILE_BYTES

UNROLL = '#pragma GCC optimize("peel-loops") /* loops over short rows are unrolled, so that rows are registers */\n'
VECTORS = {32: "__AVX__", 64: "__AVX512F__"}
"""Bytes of the vectors that only some CPUs have, and how a compiler says so."""
FEW = 8
"""Turns of a loop that are written out, where each updates a vector."""


def unrolled(kernels: Sequence[Kernel]) -> list[str]:
    """Return the lines that a program begins with, so that short rows are registers."""
    widest = 0
    for body in _bodies(kernels):
        rows = {stmt.buffer for stmt in nested(body) if isinstance(stmt, Row) and _is_short(stmt.buffer)}
        if not rows:
            continue
        if not rows.isdisjoint(_taken_apart(body)) or any(row.nbytes not in (16, *VECTORS) for row in rows):
            return [UNROLL]
        widest = max(widest, *(row.nbytes for row in rows))
    return [f"#ifndef {VECTORS[widest]}\n{UNROLL}#endif\n"] if widest in VECTORS else []


def has_few_turns(loop: For) -> bool:
    """Does a loop update rows from around it, which are vectors, a few times, and nothing else?"""
    inside = nested(loop.body)
    loops = [stmt for stmt in inside if isinstance(stmt, For)]
    if loop.simd or int(loop.axis.args[1]) > FEW or not loops or not all(inner.simd for inner in loops):
        return False
    lanes = {inner.axis for inner in loops}
    own = {stmt.buffer for stmt in inside if isinstance(stmt, Row)}
    places = [place for stmt in inside for place in written(stmt) if not isinstance(place, Node)]
    return any(buffer.space == "row" and buffer not in own and buffer.nbytes in (16, *VECTORS) and place in lanes
               for buffer, place in places)


def _is_short(row: Buffer) -> bool:
    """Is a row to be registers?"""
    return row.nbytes <= TILE_BYTES or (row.wide and row.size <= REGISTERS.get(row.dtype, 0))


def _bodies(kernels: Sequence[Kernel]) -> Iterator[Sequence[Stmt]]:
    for kernel in kernels:
        if isinstance(kernel, Nest):
            yield kernel.body
        for program in inner_programs(kernel):
            yield from _bodies(program)


def _taken_apart(body: Sequence[Stmt]) -> set[Buffer]:
    """Return the arrays of which elements are read or written otherwise than all of them, side by side."""
    lanes = {stmt.axis for stmt in nested(body) if isinstance(stmt, For) and stmt.simd}
    return {buffer for stmt in nested(body) for buffer, place in _places(stmt) if place not in lanes}


def _places(stmt: Stmt) -> Iterator[tuple[Buffer, Node]]:
    """Yield what a statement reads and writes of arrays, and where in them."""
    yield from ((node.args[0], node.args[1]) for node in walk(expressions(stmt)) if node.op == "load")
    yield from (place for place in written(stmt) if not isinstance(place, Node))
