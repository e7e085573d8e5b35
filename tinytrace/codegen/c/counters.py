"""What counts the iterations of a loop: 64 bits, or 32 where positions become elements of 32 bits.

    for (int32_t i1_count = 0; i1_count < 1024; i1_count++) {
        const int64_t i1 = i1_count;
        const int32_t value = a[i1] == c ? ((int32_t)i1) : 2147483647;

Positions of 64 bits are two vectors, which are packed in every iteration: with 32 bits `argmax` takes 0.7 (AVX2) or
0.85 (AVX-512) of the time. Addresses keep their 64 bits; the bounds say that nothing overflows.

A loop that updates elements at computed places, one after the other, has no vectors: its iteration is a reading, an
addition and a writing, and as much again for counting and jumping. Those are shared by eight: 0.7 to 0.9 of the time.
"""
from __future__ import annotations

from tinytrace.codegen.c.short_rows import has_few_turns
from tinytrace.codegen.ir.arithmetic import constant_of
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import Call, Combine, For, Inclusive, Row, Store, expressions, nested

UNROLLED = "#pragma GCC unroll 8"
SMALL = 24
"""A loop with more expressions than this in it is not unrolled: counting is little of it."""

def counted(loop: For, begin: str, end: str) -> tuple[str, list[str]]:
    """Return the heading of a loop from `begin` to `end`, and the lines that its body begins with."""
    name = loop.axis.args[0]
    if not loop.simd or not _is_short(loop) or _is_running_fold(loop) or not _has_positions_as_elements(loop):
        return f"for (int64_t {name} = {begin}; {name} < {end}; {name}++)", []
    count = f"{name}_count"
    return f"for (int32_t {count} = {begin}; {count} < {end}; {count}++)", [f"const int64_t {name} = {count};"]


def _is_short(loop: For) -> bool:
    """Does 32 bits hold every position, the end included, and does the compiler see that?"""
    begin, end = constant_of(loop.begin), constant_of(loop.end)
    return begin is not None and end is not None and 0 <= begin <= end < 1 << 31


def _is_running_fold(loop: For) -> bool:
    """Must the body be two blocks and nothing else, as `#pragma omp scan` wants it?"""
    return any(isinstance(stmt, Inclusive) for stmt in loop.body)


def _has_positions_as_elements(loop: For) -> bool:
    return any(_is_element_of_words(node, loop.axis) for stmt in nested(loop.body) for node in walk(expressions(stmt)))


def _is_element_of_words(node: Node, axis: Node) -> bool:
    return node.op == "cast" and node.dtype is not None and node.dtype.itemsize <= 4 and axis in walk(node.children)


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
