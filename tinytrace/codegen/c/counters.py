"""What counts the iterations of a loop: 64 bits, or 32 where positions become elements, or as few as those have.

    for (int32_t i1_count = 0; i1_count < 1024; i1_count++) {
        const int64_t i1 = i1_count;
        const int32_t value = a[i1] == c ? ((int32_t)i1) : 2147483647;

Positions of 64 bits are two vectors, which are packed in every iteration: with 32 bits `argmax` takes 0.7 (AVX2) or
0.85 (AVX-512) of the time. Addresses keep their 64 bits; the bounds say that nothing overflows. Without AVX-512 no
vector of 64 bits becomes floats, so a loop that makes them of positions had no vectors at all: `hamming` of 100,000
takes 0.16 of the time, `linspace` of float64 0.26 (AVX2). Where all such elements are bytes, or all have two, so has
the counter (`passes/near_positions.py`): of 32 bits, four vectors would be packed to one.

A loop that updates elements at computed places, one after the other, has no vectors: its iteration is a reading, an
addition and a writing, and as much again for counting and jumping. Those are shared by eight: 0.7 to 0.9 of the time.
"""
from __future__ import annotations

import numpy as np

from tinytrace.codegen.c.short_rows import has_few_turns
from tinytrace.codegen.c.vector_width import shows_lanes
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import Call, Combine, For, Inclusive, Row, Store, expressions, nested
from tinytrace.core.dtypes import is_inexact

UNROLLED = "#pragma GCC unroll 8"
SMALL = 24
"""A loop with more expressions than this in it is not unrolled: counting is little of it."""

def counted(loop: For, begin: str, end: str) -> tuple[str, list[str]]:
    """Return the heading of a loop from `begin` to `end`, and the lines that its body begins with."""
    name = loop.axis.args[0]
    if not loop.simd or not _is_short(loop) or _is_running_fold(loop) or not _has_positions_as_elements(loop):
        return f"for (int64_t {name} = {begin}; {name} < {end}; {name}++)", []
    count = f"{name}_count"
    first, last = map(_in_words, (begin, end))
    return f"for ({_type(loop)} {count} = {first}; {count} < {last}; {count}++)", [f"const int64_t {name} = {count};"]


def _type(loop: For) -> str:
    """Return the type of a counter that becomes elements: theirs, if they are narrow and hold the end."""
    elements = {node.dtype for node in _positions_as_elements(loop)}
    dtype = elements.pop() if len(elements) == 1 else None
    if dtype in (np.uint8, np.uint16) and loop.axis.high < np.iinfo(dtype).max:
        return f"{dtype}_t"
    return "int32_t"


def _in_words(bound: str) -> str:
    return bound if bound.isdigit() else f"(int32_t){bound if bound.isidentifier() else f'({bound})'}"


def narrowing(cast: Node, loop: For | None) -> str:
    """Return what stands before a position that becomes an element: 32 bits become a float on every CPU's vectors."""
    position = cast.args[0]
    assert cast.dtype is not None
    is_short = bool(position.axes) and -(1 << 31) <= position.low <= position.high < 1 << 31
    return "(int32_t)" if is_short and is_inexact(cast.dtype) and _becomes_words(cast, loop) else ""


def _is_short(loop: For) -> bool:
    """Does 32 bits hold every position, the end included, and does the compiler see that?"""
    return loop.axis.low >= 0 and loop.axis.high < (1 << 31) - 1


def _is_running_fold(loop: For) -> bool:
    """Must the body be two blocks and nothing else, as `#pragma omp scan` wants it?"""
    return any(isinstance(stmt, Inclusive) for stmt in loop.body)


def _has_positions_as_elements(loop: For) -> bool:
    return any(_becomes_words(node, loop) for node in _positions_as_elements(loop))


def _positions_as_elements(loop: For) -> list[Node]:
    """Return the elements that are made of positions along the loop's axis."""
    return [node for stmt in nested(loop.body) for node in walk(expressions(stmt))
            if node.op == "cast" and loop.axis in walk(node.children)]


def _becomes_words(cast: Node, loop: For | None) -> bool:
    """Is an element made of a position in 32 bits? Not float64 that is summed: so many lanes add in another order."""
    assert cast.dtype is not None
    return cast.dtype.itemsize <= 4 or \
        (is_inexact(cast.dtype) and not (loop and any(map(shows_lanes, nested(loop.body)))))


def unrolling(loop: For) -> str:
    """Return the line before a loop that is unrolled; nothing before others."""
    if has_few_turns(loop):
        return f"#pragma GCC unroll {loop.axis.args[1]}"
    return UNROLLED if is_unrolled(loop) else ""


def is_unrolled(loop: For) -> bool:
    """Does a loop do little else than to update elements whose places depend on data?"""
    inside = list(nested(loop.body))
    if loop.simd or any(isinstance(stmt, (For, Call, Row)) for stmt in inside):
        return False
    places = [stmt.place[1] for stmt in inside
              if isinstance(stmt, (Store, Combine)) and not isinstance(stmt.place, Node)]
    return any(node.op == "index" for node in walk(places)) \
        and len(walk(root for stmt in inside for root in expressions(stmt))) <= SMALL
