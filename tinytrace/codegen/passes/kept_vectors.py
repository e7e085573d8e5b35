"""What every turn of a loop around vectors reads again is read once for all turns, and stays in registers.

    for i < 54: for lane < 64: y[i, lane] = x[i, lane] * w[lane] + x[i + 1, lane] * w[64 + lane] + ...

    is    for block < 7: for tile < 4:
              for lane < 16: w_kept[lane] = w[16 tile + lane], ...
              for i in 8 of block: for lane < 16: y[i, 16 tile + lane] = x[i, 16 tile + lane] * w_kept[lane] + ...

A convolution with a kernel for each channel reads as many weights as elements of the image, and a processor one vector
in a cycle. One vector of lanes at a time, the weights are registers: 3x3 of 64 channels take 0.75 of the time (Zen 4).
So many turns go through all vectors of their rows that what they read lies together, in the first-level cache.
gcc does not know that results are stored elsewhere than weights lie: these are copied onto the stack, of which it does.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinytrace.codegen.ir.arithmetic import constant_of, linear, minimum
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, load, number, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Declare, For, Row, Stmt, Store, expressions
from tinytrace.codegen.passes.strips import fresh_name, map_loops
from tinytrace.core.dtypes import element_size
from tinytrace.records import replace

VECTOR = 64
"""Bytes of a tile."""
LONGEST = 1024
"""Bytes of a row, at most."""
FEWEST, MOST = 4, 20
"""Vectors that are kept, at least and at most; at least as many are read anew in each turn."""
BLOCK = 8
"""Turns with one vector of lanes, so that all that they read stays in the first-level cache."""
TURNS = 8
"""Turns of the loop, at least."""


def keep_vectors(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops around vectors keep those that they read again in registers."""
    taken: set[str] = set()
    return map_bodies(kernels, lambda body: map_loops(body, lambda loop: _tiled(loop, taken)), keep_titles=True)


def _tiled(loop: For, taken: set[str]) -> list[Stmt]:
    """Return a loop that goes through its rows one vector of lanes at a time; nothing if it is left as it is."""
    lanes = loop.body[0] if len(loop.body) == 1 else None
    if not (isinstance(lanes, For) and lanes.simd and not loop.simd and loop.independent and not loop.grain):
        return []
    size = _size_of_elements(lanes)
    extent, turns = int(lanes.axis.args[1]), (constant_of(loop.end) or 0) - (constant_of(loop.begin) or 0)
    is_whole = constant_of(lanes.begin) == 0 and constant_of(lanes.end) == extent
    if not size or not is_whole or extent * size % VECTOR or not VECTOR < extent * size <= LONGEST or turns < TURNS:
        return []
    kept, moved = _kept_and_moved(loop, lanes)
    if not FEWEST <= len(kept) <= min(MOST, moved):
        return []
    count = VECTOR // size
    tile, lane = axis(f"{lanes.axis.args[0]}_tile", extent // count), axis(str(lanes.axis.args[0]), count)
    here: dict[Node, Node] = {lanes.axis: linear(0, [(tile, count), (lane, 1)])}
    rows = {node: Buffer(fresh_name(f"{node.args[0].name}_kept", taken), (count,), node.args[0].dtype, "row")
            for node in kept}
    reads = Replacement(here).of([Store((rows[x], lane), x) for x in kept])
    body = Replacement({**here, **{x: load(row, lane, row.dtype) for x, row in rows.items()}}).of(lanes.body)
    inner = replace(lanes, axis=lane, end=number(count), body=body)
    block, begin = axis(f"{loop.axis.args[0]}_block", -(-turns // BLOCK)), constant_of(loop.begin) or 0
    first, end = linear(begin, [(block, BLOCK)]), linear(begin + BLOCK, [(block, BLOCK)])
    if turns % BLOCK:
        end = minimum(end, number(begin + turns))
    turn = replace(loop, begin=first, end=end, body=[inner])
    tiles = For(tile, number(0), number(extent // count), [
        *map(Row, rows.values()), For(lane, number(0), number(count), reads, True, True), turn], independent=True)
    return [For(block, number(0), number(int(block.args[1])), [tiles], independent=True)]


def _kept_and_moved(loop: For, lanes: For) -> tuple[list[Node], int]:
    """Return what all turns read for certain, at places that loops alone tell, and how much each reads anew."""
    roots = [root for stmt in lanes.body for root in expressions(stmt)]
    read = {node for node in walk(roots) if node.op == "load" and lanes.axis in node.axes}
    kept = [node for node in read & set(walk(roots, certain=True)) if loop.axis not in node.axes
            and not any(part.op in ("index", "local", "load") for part in walk([node.args[1]]))]
    return sorted(kept, key=lambda node: node.serial), sum(loop.axis in node.axes for node in read)


def _size_of_elements(lanes: For) -> int:
    """Return the bytes of each element of a loop that only stores into arrays that it does not read, else 0."""
    written = {stmt.place[0] for stmt in lanes.body if isinstance(stmt, Store) and isinstance(stmt.place, tuple)}
    if not all(isinstance(stmt, Declare) or (isinstance(stmt, Store) and isinstance(stmt.place, tuple))
               for stmt in lanes.body):
        return 0
    read = {node.args[0] for stmt in lanes.body for node in walk(expressions(stmt)) if node.op == "load"}
    sizes = {element_size(buffer.dtype) for buffer in written | read}
    is_plain = all(isinstance(buffer.dtype, np.dtype) and buffer.dtype.kind != "c" for buffer in written | read)
    return sizes.pop() if is_plain and written.isdisjoint(read) and sizes in ({4}, {8}) else 0
