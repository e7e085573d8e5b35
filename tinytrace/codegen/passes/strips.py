"""Loops are cut into strips, so short that arrays on the stack hold what one loop over a strip leaves to the next."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, linear
from tinytrace.codegen.ir.nodes import Node, axis, number, walk
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Call,
    Combine,
    Declare,
    For,
    Stmt,
    Store,
    When,
    expressions,
    with_body,
    written,
)
from tinytrace.codegen.passes.streaming_stores import rest_of
from tinytrace.records import replace

VECTOR = 16
"""A strip that is part of a loop has a multiple of so many elements."""


def map_vector_loops(body: Sequence[Stmt], rewritten: Callable[[For], list[Stmt]]) -> list[Stmt]:
    """Return statements with every vectorised loop in the form that `rewritten` gives it."""
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and stmt.simd:
            result += rewritten(stmt)
        elif isinstance(stmt, (For, When)):
            result.append(with_body(stmt, map_vector_loops(stmt.body, rewritten)))
        elif isinstance(stmt, Call) and stmt.then is not None:
            then = with_body(stmt.then, map_vector_loops(stmt.then.body, rewritten))
            result.append(stmt if then is stmt.then else replace(stmt, then=then))
        else:
            result.append(stmt)
    return result


def map_loops(body: Sequence[Stmt], rewritten: Callable[[For], list[Stmt]]) -> list[Stmt]:
    """Return statements with every loop, outer ones first, as `rewritten` gives it; where that is nothing, its body is
    looked at."""
    result: list[Stmt] = []
    for stmt in body:
        changed = rewritten(stmt) if isinstance(stmt, For) else []
        if not changed:
            changed = [with_body(stmt, map_loops(stmt.body, rewritten)) if isinstance(stmt, (For, When)) else stmt]
        result += changed
    return result


def without_variables(body: Sequence[Stmt], may_read_late: bool = False) -> list[Stmt]:
    """Return the stores and folds of a loop, with no variable of its own; nothing if there is more in it, or if a
    variable holds what one of them overwrites before another reads it (`may_read_late`: who asks minds that itself)."""
    named: dict[Node, Node] = {}
    result: list[Stmt] = []
    for old in body:
        stmt, = Replacement(named).of([old])
        if isinstance(stmt, Declare) and stmt.fixed:
            named[stmt.local] = stmt.value
        elif isinstance(stmt, (Store, Combine)):
            result.append(stmt)
        else:
            return []
    return [] if reads_late(result) and not may_read_late else result


def reads_late(body: Sequence[Stmt]) -> bool:
    """Does a statement read an array into which one before it has stored?"""
    stored: set[str] = set()
    for stmt in body:
        if stored and any(node.op == "load" and node.args[0].name in stored for node in walk(expressions(stmt))):
            return True
        stored |= {place[0].name for place in written(stmt) if not isinstance(place, Node)}
    return False


def from_zero(loop: For) -> For | None:
    """Return a loop between two numbers as one that counts from 0, all values of its axis; None for other loops.

        for i in [1, 9): y[i] = x[i - 1]    is    for i < 8: y[1 + i] = x[i]
    """
    begin, end = constant_of(loop.begin), constant_of(loop.end)
    if begin is None or end is None:
        return None
    if (begin, end) == (0, loop.axis.args[1]):
        return loop
    lane = axis(str(loop.axis.args[0]), end - begin)
    body = Replacement({loop.axis: linear(begin, [(lane, 1)])}).of(loop.body)
    return replace(loop, axis=lane, begin=number(0), end=number(end - begin), body=body)


def folds_into_variables(body: Sequence[Stmt]) -> bool:
    """Does a loop fold into variables? Cut, it would add its terms in another order; truth values and integers have
    none."""
    return any(isinstance(stmt, Combine) and isinstance(stmt.place, Node) and not _in_any_order(stmt) for stmt in body)


def _in_any_order(fold: Combine) -> bool:
    return fold.op in ("and", "or") or (fold.value.dtype is not None and fold.value.dtype.kind in "iu")


def in_strips(loop: For, body: Sequence[Stmt], longest: int,
              inside: Callable[[Sequence[Stmt], Node, int], list[Stmt]], multiple: int | None = None) -> list[Stmt]:
    """Return a loop from 0 as loops over strips.

    Args:
      body: that of the loop, in which a strip is written.
      longest: the most elements of a strip; a loop of so many is one strip.
      inside: makes the statements of a strip from its body, the variable of its loops and its length.
      multiple: of how many elements a strip has a multiple, if not of `VECTOR`.
    """
    extent = int(loop.axis.args[1])
    if extent <= longest and not loop.grain:
        return inside(body, loop.axis, extent)
    if folds_into_variables(body):
        return [loop]
    multiple = multiple or VECTOR
    size = max(1, extent // -(-extent // longest) // multiple) * multiple  # so that little is left after the last strip
    strips, name = extent // size, str(loop.axis.args[0])
    around = {str(outer.args[0]) for stmt in body for root in expressions(stmt) for outer in root.axes}
    strip, lane = axis(fresh_name(f"{name}_strip", around), strips), axis(name, size)
    moved = Replacement({loop.axis: linear(0, [(strip, size), (lane, 1)])}).of(body)
    main = For(strip, number(0), number(strips), inside(moved, lane, size), independent=loop.independent,
               grain=min(strips, -(-loop.grain // size)))
    return [main, *rest_of(loop, strips * size, extent)]


def fresh_name(wish: str, taken: set[str]) -> str:
    """Return a name that no other array on the stack of the program has, and take it."""
    name, k = wish, 0
    while name in taken:
        name, k = f"{wish}_{k + 1}", k + 1
    taken.add(name)
    return name
