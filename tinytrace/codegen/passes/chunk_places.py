"""The place of an extreme is searched in the chunks of which it is the extreme.

    for chunk: { m = -inf;  for i: m = max(m, a[chunk, i]);  m_partials[chunk] = m }
    c = -inf;  for chunk: c = max(c, m_partials[chunk])
    for chunk: { b = none;  for i: b = min(b, a[chunk, i] == c ? place : none);  b_partials[chunk] = b }

    is    ... for chunk: { b = none;  if m_partials[chunk] == c: for i: b = min(b, ...);  b_partials[chunk] = b }

A second look at a large array takes as long as the first. In a chunk whose extreme is another number no element is the
one that is looked for; where the extreme is a NaN, a chunk has one if its own extreme is one.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.arithmetic import compare, index_of
from tinytrace.codegen.ir.inserted_operations import is_search
from tinytrace.codegen.ir.kernel import Kernel, Nest, Renamed, inner_programs, with_programs
from tinytrace.codegen.ir.nodes import Node, apply, literal, load, number, value_of, walk
from tinytrace.codegen.ir.statements import Buffer, Combine, Declare, For, Stmt, Store, When, with_body
from tinytrace.codegen.passes.near_positions import BLOCKS
from tinytrace.core.dtypes import is_float, is_integer
from tinytrace.records import NamedTuple

EXTREMES = ("max", "min")


class Extreme(NamedTuple):
    """For chunks: of which elements, by their node, which extreme is stored in which array."""

    chunk: Node
    element: Node
    op: str
    partials: Buffer


def search_in_chunks(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program that looks for the places of extremes where they are."""
    result: list[Kernel] = []
    for kernel in kernels:
        if isinstance(kernel, Nest):
            before = result[-1] if result else None
            if isinstance(before, Nest) and not isinstance(before.body, Renamed) \
                    and not isinstance(kernel.body, Renamed) and "position_of" in _operations(kernel):
                kernel = _searched(before, kernel)
        else:
            kernel = with_programs(kernel, [search_in_chunks(program) for program in inner_programs(kernel)])
        result.append(kernel)
    return result


def _operations(nest: Nest) -> set[str]:
    return {node.args[0].name for stmt in nest.body for node in walk(_values(stmt)) if node.op == "apply"}


def _values(stmt: Stmt) -> Iterator[Node]:
    """Yield what a statement, or those in it, take into variables."""
    if isinstance(stmt, Combine):
        yield stmt.value
    elif isinstance(stmt, For):
        for inner in stmt.body:
            yield from _values(inner)


def _searched(before: Nest, nest: Nest) -> Nest:
    """Return a nest whose loops over chunks look at those that have an extreme that the nest before found."""
    found = [extreme for stmt in before.body if isinstance(stmt, For) for extreme in _extremes(stmt)]
    body = [_guarded(stmt, before, found) if isinstance(stmt, For) else stmt for stmt in nest.body]
    return nest.with_body(body) if any(new is not old for new, old in zip(body, nest.body, strict=True)) else nest


def _extremes(loop: For) -> Iterator[Extreme]:
    """Yield the extremes of chunks that a loop over these stores."""
    folds = {stmt.place: stmt for inner in loop.body if isinstance(inner, For) and inner.simd for stmt in inner.body
             if isinstance(stmt, Combine) and isinstance(stmt.place, Node)}
    for stmt in loop.body:
        if isinstance(stmt, Store) and isinstance(stmt.place, tuple) and stmt.place[1] is loop.axis:
            fold = extreme_of(stmt.value, folds)
            if fold is not None:
                yield Extreme(loop.axis, fold.value, fold.op, stmt.place[0])


def extreme_of(value: Node, folds: dict[Node, Combine]) -> Combine | None:
    """Return the fold that gives `value`, which of floats is NaN where an element is; None for other values."""
    flag = None
    if value.op == "apply" and value.args[0].name == "select":
        _, flag, _, value = value.args
    fold, seen = folds.get(value), folds.get(flag) if flag is not None else None
    if fold is None or fold.op not in EXTREMES or fold.value.dtype is None:
        return None
    asks = seen is not None and seen.op == "or" and seen.value.op == "apply" \
        and seen.value.args[0].name == "is_nan" and seen.value.args[1] is fold.value
    return fold if asks == is_float(fold.value.dtype) and (flag is None or asks) else None


def _guarded(loop: For, before: Nest, found: Sequence[Extreme]) -> For:
    """Return a loop over chunks that searches only those with the extreme it looks for; any other as it is."""
    if len(loop.body) != 3:
        return loop
    start, search, end = loop.body
    if not (isinstance(start, Declare) and isinstance(search, For) and search.simd and isinstance(end, Store)
            and len(search.body) == 1 and isinstance(fold := search.body[0], Combine) and fold.op == "min"
            and fold.place is start.local and is_search(fold.value)):
        return loop
    operation, x, extreme, position, none = fold.value.args
    for chunks in found:
        dtype = chunks.partials.dtype
        if chunks.chunk is loop.axis and chunks.element is x and x.dtype == dtype and none.op == "literal" \
                and not (is_integer(dtype) and dtype.itemsize in BLOCKS) and _is_total(extreme, chunks, before):
            part = load(chunks.partials, loop.axis, dtype)
            here = apply(operation, (part, extreme, literal(0, position.dtype), none))
            here.eqns |= fold.value.eqns
            guard = compare("lt", index_of(here), number(int(value_of(none))))
            return with_body(loop, [start, When(guard, [search]), end])
    return loop


def _is_total(extreme: Node, chunks: Extreme, before: Nest) -> bool:
    """Is a value the extreme of what the chunks have stored?"""
    folds = {fold.place: fold for loop in before.body if isinstance(loop, For) and loop.simd
             for fold in loop.body if isinstance(fold, Combine) and isinstance(fold.place, Node)}
    named = [stmt.value for stmt in before.body if isinstance(stmt, Declare) and stmt.fixed and stmt.local is extreme]
    fold = extreme_of(named[0] if named else extreme, folds)
    return fold is not None and fold.op == chunks.op and fold.value.op == "load" \
        and fold.value.args[0] is chunks.partials
