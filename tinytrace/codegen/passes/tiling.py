"""Loops that read an array across its rows are tiled, and each tile is turned on the stack.

    for i < n: for j < m: b[m * i + j] = a[n * j + i]

    is    for each block of 64 i, for each block of 64 j:
              for j: for i: tile[j, i] = a[n * j + i]
              for i: for j: b[m * i + j] = tile[j, i]

A cache line has 16 elements (of 4 bytes) of one row, of which an iteration of `i` uses one; before the next iteration
comes to the others, the line has been driven out by those of the other rows. In a tile it is read once, with those
beside it, which come from memory in less time than lines that are far apart. The tile is written in vectors and read
element by element, for a processor loads two or three in a cycle and stores one. Its rows are one element longer than a
block: elements of a column, which are read one after the other, are then in different sets of the first-level cache.
Rows may be read backwards, as by `rot90`.

Few rows need no tile: their lines stay in the first-level cache until the next iteration, if they are in different
sets. A (64, 300, 500) takes half of the time so.

With one thread a (4096, 4096) takes 0.3 of the time that tiles of 16 elements across take, written one by one, and a
(1000, 1000) 0.45 (Emerald Rapids, with gathers and without).

Elements that are only moved are turned in registers (`csrc/math/turned.h`), for of small ones a compiler makes one load
and one store each: a (3162, 3162) of bytes in 0.1 of the time, of float16, float32 and complex64 in half, of complex128
in 0.7 (Zen 4).

That holds for loops with nothing between them, whose iterations are independent, and for what an element reads in any
case at a place that depends on loops alone. Lanes run over rows of the tile as they ran over rows of the result.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, linear, minimum, rebuild, stride_along, subtract
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, load, number, rewrite, walk
from tinytrace.codegen.ir.procedures import turned
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Declare,
    For,
    Row,
    Stmt,
    Store,
    expressions,
    touched,
    with_body,
)
from tinytrace.core.dtypes import element_size
from tinytrace.records import dataclass

LANES = 64
"""Rows of an array in a tile."""
ROW_BYTES = 256
"""Bytes of each of them, of all arrays that are turned together: all tiles fit into the first-level cache."""
LINE, SETS, WAYS = 64, 64, 5
"""Bytes of a line of the first-level cache, its sets, and how many lines of one set stay (of eight or more)."""
FEWEST = 16
"""Shorter loops are left as they are."""
LARGE = 1 << 15
"""Bytes that stay in the first-level cache as they are."""
TURNED, TURNED_ROWS, MOST_IN_COMMON = (1, 2, 4, 8, 16), 512, 512
"""Bytes of elements that are turned in registers, in how many rows of the result at once, and of which power of two the
distance of these may be a multiple: of 4096 all are in one set of the caches. Of elements so large that a square fills
half a line of each row, or all of it, it may be any."""
HALF_A_LINE = 8
"""The bytes of such elements."""
PARTS = 4
"""Of a lower result so many of its rows: threads share them."""
MOST_TILES = 4
"""Arrays that are turned for one loop."""


def tile_loops(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops across the rows of large arrays run tile by tile."""
    return map_bodies(kernels, _tiled, keep_titles=True)


def _tiled(body: Sequence[Stmt]) -> list[Stmt]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and not stmt.simd:
            loops = _perfect_nest(stmt)
            tiling = _tiling(loops) if loops else None
            if tiling is not None and (turned := tiling.turned_in_registers()):
                result += turned
                continue
            stmt = tiling.statement() if tiling else with_body(stmt, _tiled(stmt.body))
        result.append(stmt)
    return result


def _perfect_nest(loop: For) -> list[For]:
    """Return a loop and those inside, when there is nothing else in them and their order does not matter."""
    loops = [loop]
    while len(loops[-1].body) == 1 and isinstance(inner := loops[-1].body[0], For):
        loops.append(inner)
    last = loops[-1]
    fits = last.simd and all(isinstance(stmt, (Declare, Store)) for stmt in last.body) \
        and not any(isinstance(stmt, Store) and isinstance(stmt.place, Node) for stmt in last.body) \
        and all(each.independent and constant_of(each.begin) == 0 and constant_of(each.end) == each.axis.args[1]
                for each in loops)
    return loops if fits else []


@dataclass
class _Tiling:
    """Loops, of which `across` goes along the rows of what is `turned` and `inner` from row to row."""

    others: list[For]
    across: For
    inner: For
    turned: list[Node]

    def turned_in_registers(self) -> list[Stmt]:
        """Return the loops as calls that turn some rows of the result at once; nothing if they do more than that, or
        if the lines of so many rows would drive each other out of the caches."""
        store, = self.inner.body if len(self.inner.body) == 1 else (None,)
        if not (isinstance(store, Store) and isinstance(store.place, tuple) and [store.value] == self.turned):
            return []
        (result, to), (array, source) = store.place, store.value.args[:2]
        across, inner, size = self.across.axis, self.inner.axis, element_size(array.dtype)
        to_row, from_row = stride_along(to, across), stride_along(source, inner)
        if result.dtype != array.dtype or size not in TURNED or stride_along(to, inner) != 1 or not to_row \
                or stride_along(source, across) != 1 or not from_row or min(to_row, from_row) < 0 \
                or (size < HALF_A_LINE and math.gcd(to_row * size, SETS * LINE) > MOST_IN_COMMON):
            return []
        rows, columns, name = int(inner.args[1]), int(across.args[1]), str(across.args[0])

        def turn(begin: Node, count: int) -> Call:
            here = {across: begin, inner: number(0)}
            place, other = rewrite([to, source], here, rebuild)
            procedure = turned(8 * size, rows, count, from_row, to_row)
            return Call(procedure, {"to": (result, place), "from": (array, other)}, ("to",), flops=rows * count)

        height = min(TURNED_ROWS, max(LANES, columns // PARTS // LANES * LANES))
        blocks, rest = divmod(columns, height)
        block = axis(f"{name}_block", blocks)
        whole = For(block, number(0), number(blocks), [turn(linear(0, [(block, height)]), height)], independent=True)
        body: list[Stmt] = [whole] if blocks else []
        body += [turn(number(blocks * height), rest)] if rest else []
        for loop in reversed(self.others):
            body = [with_body(loop, body)]
        return body

    def statement(self) -> For:
        longest = ROW_BYTES // sum(max(4, element_size(x.args[0].dtype)) for x in self.turned)
        i_block, i, i_end, i_place = _blocks(self.across.axis, min(int(self.across.axis.args[1]), longest))
        j_block, j, j_end, j_place = _blocks(self.inner.axis, LANES)
        here = {self.across.axis: i_place, self.inner.axis: j_place}
        fills: list[Stmt] = []
        changed: dict[Node, Node] = dict(here)
        for k, node in enumerate(self.turned):
            array, offset = node.args[:2]
            width = int(i.args[1]) + 1
            tile = Buffer(f"{array.name}_tile{k or ''}", (int(j.args[1]), width), array.dtype, "row")
            at = linear(0, [(j, width), (i, 1)])
            source, = rewrite([offset], here, rebuild)
            turn = For(i, number(0), i_end, [Store((tile, at), load(array, source, array.dtype))], simd=True,
                       independent=True)
            fills += [Row(tile), For(j, number(0), j_end, [turn])]
            changed[node] = load(tile, at, array.dtype)
        body = For(j, number(0), j_end, Replacement(changed).of(self.inner.body), simd=True, independent=True)
        tiles: list[Stmt] = [*fills, For(i, number(0), i_end, [body])]
        blocks = For(i_block, number(0), number(i_block.args[1]), [], independent=True)
        outer = [*self.others, blocks]
        if self.others and self.others[0].axis.args[1] < i_block.args[1]:
            outer = [blocks, *self.others]  # there is more to share out
        result = For(j_block, number(0), number(j_block.args[1]), tiles, independent=True)
        for loop in reversed(outer):
            result = with_body(loop, [result])
        return result


def _blocks(whole: Node, size: int) -> tuple[Node, Node, Node, Node]:
    """Return the axis of the blocks of an axis, the axis inside one, where that ends, and what `whole` is there."""
    name, extent = str(whole.args[0]), int(whole.args[1])
    block, inside = axis(f"{name}_block", -(-extent // size)), axis(name, min(size, extent))
    end = number(inside.args[1])
    if extent % size:
        end = minimum(number(size), subtract(number(extent), linear(0, [(block, size)])))
    return block, inside, end, linear(0, [(block, size), (inside, 1)])


def _tiling(loops: Sequence[For]) -> _Tiling | None:
    """Return how a nest is tiled; None: it reads no large array across its rows."""
    inner = loops[-1]
    found: dict[For, list[Node]] = {}
    extent = int(inner.axis.args[1])
    for node in _loads(root for stmt in inner.body for root in expressions(stmt)):
        offset = node.args[1]
        stride = stride_along(offset, inner.axis)
        if stride is None or stride in (0, 1, -1) or _stay(extent, stride * element_size(node.args[0].dtype)) \
                or any(part.op in ("index", "local", "load") for part in walk([offset])):
            continue
        for loop in loops[:-1]:
            if stride_along(offset, loop.axis) in (1, -1):
                found.setdefault(loop, []).append(node)
    written = {buffer for stmt in inner.body for buffer in touched(stmt)}
    for across, nodes in found.items():
        size = min(element_size(node.args[0].dtype) for node in nodes)
        read = math.prod(int(loop.axis.args[1]) for loop in loops[loops.index(across):])
        if min(int(across.axis.args[1]), extent) >= FEWEST and read * size >= LARGE and len(nodes) <= MOST_TILES \
                and not written & {node.args[0] for node in nodes}:
            return _Tiling([loop for loop in loops[:-1] if loop is not across], across, inner, nodes)
    return None


def _stay(rows: int, stride: int) -> bool:
    """Do a line of each of so many rows, which are `stride` bytes apart, stay in the first-level cache?"""
    return rows <= WAYS * min(SETS, SETS * LINE // math.gcd(stride, SETS * LINE))


def _loads(roots: Iterable[Node]) -> list[Node]:
    """Return the loads of expressions that are evaluated in any case."""
    found: dict[Node, None] = {}
    rest = list(roots)
    while rest:
        node = rest.pop()
        if node not in found:
            found[node] = None
            rest += node.certain
    return sorted((node for node in found if node.op == "load"), key=lambda node: node.serial)
