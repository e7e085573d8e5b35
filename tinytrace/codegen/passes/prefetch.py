"""Rows of an array larger than the caches that are read more than once: the next row is asked for ahead of its time.

    for i: { m = max over j of a[i, j];  for j: s += exp(a[i, j] - m) }

    is    for i: { for each line of a[i + 1, :]: __builtin_prefetch(line);  m = ...;  s += ... }

The first of the loops waits for memory, which is idle during the others. Processors fetch ahead themselves, but only as
far as they see: not past the loops that read the row again, whose results wait for each other.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.arithmetic import add, compare, constant_of, linear, rebuild, stride_along
from tinytrace.codegen.ir.kernel import Kernel, map_bodies
from tinytrace.codegen.ir.nodes import Node, axis, number, rewrite, walk
from tinytrace.codegen.ir.procedures import PREFETCH
from tinytrace.codegen.ir.statements import Buffer, Call, For, Stmt, When, expressions, with_body
from tinytrace.codegen.passes.streaming_stores import LARGER_THAN_CACHES
from tinytrace.core.dtypes import element_size

LINE = 64
"""Bytes that a processor fetches at once."""
LEAST, MOST = 1 << 10, 1 << 15
"""Bytes of a row: there is time for others meanwhile, and two fit into the first-level cache or the next."""


def prefetch_rows(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops over rows of large arrays ask for the next row."""
    return map_bodies(kernels, _asking, keep_titles=True)


def _asking(body: Sequence[Stmt]) -> list[Stmt]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and not stmt.simd:
            inner = with_body(stmt, _asking(stmt.body))
            stmt = with_body(inner, [*_requests(inner), *inner.body])
        result.append(stmt)
    return result


def _requests(loop: For) -> list[Stmt]:
    """Return what asks for the next rows of `loop`."""
    rows = list(_rows(loop))
    found = {(buffer, start): size for buffer, start, size in rows if rows.count((buffer, start, size)) > 1}
    requests: list[Stmt] = []
    for (buffer, start), size in found.items():
        step = LINE // element_size(buffer.dtype)
        line = axis(f"{buffer.name}_line", -(-size // step))
        place = buffer, add(start, linear(0, [(line, step)]))
        ask = For(line, number(0), number(line.args[1]), [Call(PREFETCH, {"row": place}, ())])
        requests.append(When(compare("lt", loop.axis, number(loop.axis.args[1] - 1)), [ask]))
    return requests


def _rows(loop: For) -> Iterator[tuple[Buffer, Node, int]]:
    """Yield the rows that the loops in `loop` read, each as its array, where the next one starts, and its size."""
    if constant_of(loop.begin) != 0 or constant_of(loop.end) != loop.axis.args[1]:
        return
    for inner in loop.body:
        if not isinstance(inner, For) or not inner.simd:
            continue
        found = set()
        for node in walk(itertools.chain.from_iterable(map(expressions, inner.body))):
            if node.op != "load" or node.args[0].nbytes < LARGER_THAN_CACHES:
                continue
            buffer, offset = node.args[:2]
            size = stride_along(offset, loop.axis)
            if size and stride_along(offset, inner.axis) == 1 and LEAST <= size * element_size(buffer.dtype) <= MOST:
                start, = rewrite([offset], {inner.axis: number(0)}, rebuild)
                if all(part.op in ("affine", "axis") for part in walk([start])):  # nothing that this iteration computes
                    found.add((buffer, add(start, number(size)), size))
        yield from found
