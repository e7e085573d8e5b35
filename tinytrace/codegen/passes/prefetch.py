"""What is read next of a large array is asked for ahead of its time, where processors see too little.

Rows that are read more than once, of an array larger than the second-level cache: the next row.

    for i: { m = max over j of a[i, j];  for j: s += exp(a[i, j] - m) }

    is    for i: { for each line of a[i + 1, :]: __builtin_prefetch(line);  m = ...;  s += ... }

The first of the loops waits for memory, which is idle during the others. Processors fetch ahead themselves, but only as
far as they see: not past the loops that read the row again, whose results wait for each other. Of 16 MB in the
third-level cache argmax takes 0.5 of the time so, softmax and logsumexp 0.87 (Zen 3).

Sums in blocks that lie one after the other: what is a page behind, or two where it comes from memory.

    for k: { t = u = 0;  for j: { t += a[256 k + j];  u += a[256 k + j] ** 2 };  s += t;  r += u }

    is    for k: { for each line of a[256 k + 2048:]: __builtin_prefetch(line);  t = u = 0; ... }

Each block ends with sums across vectors, and pages end: processors fetch ahead inside of a page. A mean and variance of
64 MB takes 0.45 to 0.8 of the time so (Emerald Rapids, two threads). A single sum waits for memory alone, and asks only
for what comes from there: of 64 MB it takes 0.9 of the time on Zen 5, with a page on Emerald Rapids 0.9 to 1.07.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.arithmetic import add, compare, constant_of, linear, rebuild, stride_along
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, number, rewrite, walk
from tinytrace.codegen.ir.procedures import PREFETCH
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Combine,
    Declare,
    For,
    Stmt,
    Store,
    When,
    expressions,
    with_body,
)
from tinytrace.codegen.passes.streaming_stores import LARGER_THAN_CACHES
from tinytrace.core.dtypes import element_size

LINE = 64
"""Bytes that a processor fetches at once."""
LEAST, MOST = 1 << 10, 1 << 15
"""Bytes of a row: there is time for others meanwhile, and two fit into the first-level cache or the next."""
LARGER_THAN_SECOND_CACHE = 1 << 21
"""Bytes: blocks of an array that is smaller are not asked for. It would cost nothing, and gain as much."""
AHEAD = 4096
"""Bytes from a block to what is asked for: less is too late at the ends of pages, more than twice that too early."""
FROM_MEMORY = 2 * AHEAD
"""The same where it comes from memory: of 64 MB a mean and variance, or sums along rows, take 0.95 of the time that
they take with AHEAD (Zen 5, two threads), which is better for 8 MB in the third-level cache."""


def prefetch_rows(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops over rows of large arrays ask for the next row."""
    return map_bodies(kernels, _asking, keep_titles=True, about=lambda found: found.touches(_is_large))


def _is_large(buffer: Buffer) -> bool:
    return buffer.nbytes >= min(LARGER_THAN_CACHES, LARGER_THAN_SECOND_CACHE)


def _asking(body: Sequence[Stmt]) -> list[Stmt]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and not stmt.simd:
            inner = with_body(stmt, _asking(stmt.body))
            stmt = with_body(inner, [*_next_rows(inner), *_next_blocks(inner), *inner.body])
        result.append(stmt)
    return result


def _next_rows(loop: For) -> list[Stmt]:
    """Return what asks for the next rows of `loop`, if it reads rows more than once."""
    rows = list(_rows(loop))
    found = {(buffer, start): size for buffer, start, size in rows if rows.count((buffer, start, size)) > 1}
    is_followed = compare("lt", loop.axis, number(loop.axis.args[1] - 1))
    return [When(is_followed, [_request(buffer, start, size)]) for (buffer, start), size in found.items()]


def _request(buffer: Buffer, start: Node, size: int) -> Stmt:
    """Return what asks for `size` elements of an array from `start` on."""
    step = LINE // element_size(buffer.dtype)
    line = axis(f"{buffer.name}_line", -(-size // step))
    place = buffer, add(start, linear(0, [(line, step)]))
    return For(line, number(0), number(line.args[1]), [Call(PREFETCH, {"row": place}, ())])


def _rows(loop: For) -> Iterator[tuple[Buffer, Node, int]]:
    """Yield the rows that the loops in `loop` read, each as its array, where the next one starts, and its size."""
    if constant_of(loop.begin) != 0 or constant_of(loop.end) != loop.axis.args[1]:
        return
    for inner in loop.body:
        if not isinstance(inner, For) or not inner.simd:
            continue
        found = set()
        for node in walk(itertools.chain.from_iterable(map(expressions, inner.body))):
            if node.op != "load" or node.args[0].nbytes < LARGER_THAN_SECOND_CACHE:
                continue
            buffer, offset = node.args[:2]
            size = stride_along(offset, loop.axis)
            if size and stride_along(offset, inner.axis) == 1 and LEAST <= size * element_size(buffer.dtype) <= MOST:
                start, = rewrite([offset], {inner.axis: number(0)}, rebuild)
                if all(part.op in ("affine", "axis") for part in walk([start])):  # nothing that this iteration computes
                    found.add((buffer, add(start, number(size)), size))
        yield from found


def _next_blocks(loop: For) -> list[Stmt]:
    """Return what asks for blocks behind those that `loop` folds; one fold alone waits for memory alone."""
    found: dict[tuple[Buffer, Node], int] = {}
    folds = sum(isinstance(stmt, Combine) for stmt in loop.body)
    least = LARGER_THAN_CACHES if folds == 1 else LARGER_THAN_SECOND_CACHE
    for inner in loop.body if folds and not loop.independent else ():
        if not isinstance(inner, For) or not inner.simd or constant_of(inner.begin) != 0 \
                or not all(isinstance(stmt, Combine) or _is_about_variables(stmt) for stmt in inner.body):
            continue
        size = int(inner.axis.args[1])
        for node in walk(itertools.chain.from_iterable(map(expressions, inner.body))):
            if node.op != "load" or node.args[0].nbytes < least or node.args[0].space == "row":
                continue
            buffer, offset = node.args[:2]
            if stride_along(offset, loop.axis) == size and stride_along(offset, inner.axis) == 1 \
                    and size * element_size(buffer.dtype) <= AHEAD:
                start, = rewrite([offset], {inner.axis: number(0)}, rebuild)
                if all(part.op in ("affine", "axis") for part in walk([start])):
                    ahead = FROM_MEMORY if buffer.nbytes >= LARGER_THAN_CACHES else AHEAD
                    found[buffer, add(start, number(ahead // element_size(buffer.dtype)))] = size
    return [When(compare("le", add(start, number(size)), number(buffer.size)), [_request(buffer, start, size)])
            for (buffer, start), size in found.items()]


def _is_about_variables(stmt: Stmt) -> bool:
    return isinstance(stmt, Declare) or (isinstance(stmt, Store) and isinstance(stmt.place, Node))
