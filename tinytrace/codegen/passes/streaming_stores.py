"""Results that are larger than the caches are stored past them, a strip at a time.

    for i < n: y[i] = f(i)    is    for s < n / 1024: for j < 1024: part[j] = f(1024 * s + j)
                                                      tt_stream(y + 1024 * s, part)

A store through the caches reads each line of the result before it is overwritten, and drives out what was there. For a
result that does not fit this is a third of the traffic, for nothing. Loops that `loop_fission` splits run over the same
strips.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, linear, minimum, stride_along, subtract, terms_of
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, axis_between, number, walk
from tinytrace.codegen.ir.procedures import stream
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Declare,
    For,
    Place,
    Row,
    Stmt,
    Store,
    expressions,
    nested,
    touched,
    with_body,
)
from tinytrace.codegen.passes.loop_fission import fission
from tinytrace.core.dtypes import element_size

LARGER_THAN_CACHES = 1 << 25
"""Bytes: few programs have more of a last-level cache for themselves."""
STRIP = 1024
"""Elements of a strip: they wait in the first-level cache."""
LINE = 64
"""Bytes of a cache line."""


def stream_results(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose vectorised loops store large results past the caches, and are several where it pays."""
    return map_bodies(kernels, _streamed, keep_titles=True)


def is_streaming(loop: For) -> bool:
    """Does the loop store past the caches? Then a thread that runs a part of it says when it is done."""
    return any(isinstance(stmt, Call) and stmt.procedure.streams for stmt in nested(loop.body))


def _streamed(body: Sequence[Stmt]) -> list[Stmt]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and stmt.simd:
            result += _in_strips(stmt, _large_results(stmt))
        elif isinstance(stmt, For):
            result.append(with_body(stmt, _streamed(stmt.body)))
        else:
            result.append(stmt)
    return result


def _large_results(loop: For) -> list[Buffer]:
    """Return the arrays that the loop fills in order, one element an iteration, and that are larger than the caches."""
    if not all(isinstance(stmt, (Declare, Store)) for stmt in loop.body):
        return []
    nodes = walk(root for stmt in loop.body for root in expressions(stmt))
    read = {node.args[0].name for node in nodes if node.op == "load"}
    filled = [buffer.name for stmt in loop.body for buffer in touched(stmt)]
    return [stmt.place[0] for stmt in loop.body
            if isinstance(stmt, Store) and isinstance(stmt.place, tuple)
            and stmt.place[0].nbytes >= LARGER_THAN_CACHES and stride_along(stmt.place[1], loop.axis) == 1
            and stmt.place[0].name not in read and filled.count(stmt.place[0].name) == 1]


def _in_strips(loop: For, large: Sequence[Buffer]) -> list[Stmt]:
    extent, name = int(loop.axis.args[1]), str(loop.axis.args[0])
    is_short = extent < STRIP and bool(large) and _has_whole_lines(loop, large)
    size = extent if is_short else STRIP
    strips = extent // size
    if not strips or constant_of(loop.begin) != 0 or constant_of(loop.end) != extent:
        return [loop]
    strip, lane = number(0) if is_short else axis(f"{name}_strip", strips), axis(name, size)
    parts = {array: Buffer(f"{array.name}_part", (size,), array.dtype, "row") for array in large}
    iterations: list[Stmt] = []
    streams: list[Stmt] = []
    for stmt in Replacement({loop.axis: linear(0, [(strip, size), (lane, 1)])}).of(loop.body):
        if isinstance(stmt, Store) and isinstance(stmt.place, tuple) and stmt.place[0] in parts:
            array, offset = stmt.place
            places: dict[str, Place] = {"to": (array, subtract(offset, lane)), "part": (parts[array], number(0))}
            streams.append(Call(stream(size * element_size(array.dtype)), places, ("to",)))
            stmt = Store((parts[array], lane), stmt.value, stmt.eqns)
        iterations.append(stmt)
    between, bodies = fission(iterations, lane, size)
    if not large:
        return [_distributed(loop, strip, lane, between, bodies)] if between else [loop]
    rows: list[Stmt] = [Row(part) for part in parts.values()]
    inside = [*rows, *_filled(lane, number(size), between, bodies), *streams]
    if is_short:
        return inside
    main = For(strip, number(0), number(strips), inside, independent=loop.independent,
               grain=min(strips, -(-loop.grain // size)))
    return [main, *rest_of(loop, strips * size, extent)]


def _has_whole_lines(loop: For, large: Sequence[Buffer]) -> bool:
    """Does the loop, shorter than a strip, fill whole cache lines of large arrays each time it runs?"""
    for stmt in loop.body:
        if isinstance(stmt, Store) and isinstance(stmt.place, tuple) and stmt.place[0] in large:
            constant, terms = terms_of(stmt.place[1])
            steps = [constant, int(loop.axis.args[1]), *(k for node, k in terms if node is not loop.axis)]
            if math.gcd(*steps) * element_size(stmt.place[0].dtype) % LINE:
                return False
    return True


def _distributed(loop: For, strip: Node, lane: Node, between: Sequence[Buffer], bodies: Sequence[list[Stmt]]) -> For:
    """Return the loop over strips, of which the last may be shorter."""
    extent = int(loop.axis.args[1])
    strips = -(-extent // STRIP)
    whole = axis(str(strip.args[0]), strips)
    bodies = [Replacement({strip: whole}).of(body) for body in bodies]
    end = minimum(number(STRIP), subtract(number(extent), linear(0, [(whole, STRIP)])))
    return For(whole, number(0), number(strips), _filled(lane, end, between, bodies), independent=loop.independent,
               grain=min(strips, -(-loop.grain // STRIP)))


def _filled(lane: Node, end: Node, between: Sequence[Buffer], bodies: Sequence[list[Stmt]]) -> list[Stmt]:
    """Return the loops over one strip, and before them the arrays between them."""
    loops = [For(lane, number(0), end, body, simd=True, independent=True) for body in bodies]
    return [*(Row(array) for array in between), *loops]


def rest_of(loop: For, begin: int, end: int) -> list[Stmt]:
    """Return the loop over what is left after the last whole strip."""
    if begin == end:
        return []
    part = axis_between(str(loop.axis.args[0]), begin, end)
    body = Replacement({loop.axis: part}).of(loop.body)
    return [For(part, number(begin), number(end), body, loop.simd, loop.independent)]
