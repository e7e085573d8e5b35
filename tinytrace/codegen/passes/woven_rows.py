"""Rows of a few elements that are woven together are computed one array each, in strips, and woven then.

    for i: { y[6 i] = f(x[i]); y[6 i + 1] = g(x[i]); ... }    is    for j simd: { y_part[j] = f(x[j]);  ... }
                                                                    for j: { y[6 j] = y_part[j]; ... }

Compilers weave two, three, four or eight arrays in vectors; of other loops that store side by side they make none, and
compute one element after the other. What takes more steps than moving it is worth a vector and a move. So is whatever
is rounded to float16, two arrays or more: in a row instructions convert it (`half_strips.py`), which takes a tenth to a
third of the time.

    for i: { for j < 7 simd: y[7 i + j] = f(x[i], j) }    is    for j: for i simd: y_part[j, i] = f(x[i], j)
                                                                for i: for j: y[7 i + j] = y_part[j, i]

A loop so short that it fills no vector is the outer one, where what it computes is dear.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, linear, stride_along, subtract
from tinytrace.codegen.ir.cost import steps
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, load, number, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.statements import Buffer, For, Row, Stmt, Store, expressions
from tinytrace.codegen.passes.strips import fresh_name, from_zero, in_strips, map_loops, without_variables
from tinytrace.core.dtypes import BFLOAT16, FLOAT16, is_complex

WOVEN_IN_VECTORS = (0, 1, 2, 3, 4, 8)
"""So many arrays compilers weave, or none are there."""
FEWEST_HALVES = 2
"""So many of float16 are worth rows, whatever is computed."""
MOST = 16
"""Rows of more elements are loops, not stores side by side."""
WORTH = 3
"""Steps for each of what is stored side by side that are worth rows."""
DEAR = 12
"""Steps for an element of a short loop that are worth a row of them. Of float16 any are, for a conversion takes nine:
`relu(x + b)` of rows of six takes 0.11 of the time, also where x is read across its rows."""
FEWEST = 64
"""Shorter loops are left as they are."""
LONGEST = 512
"""Elements of a strip."""


def weave_rows(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops compute what they weave in vectors."""
    taken: set[str] = set()
    return map_bodies(kernels, lambda body: map_loops(body, lambda loop: _woven(loop, taken) or _of_short_loop(
        loop, taken)), keep_titles=True)


def _woven(loop: For, taken: set[str]) -> list[Stmt]:
    """Return a loop in strips; nothing if there is nothing to weave, or to gain."""
    whole = from_zero(loop)
    if whole is None or not loop.independent or int(whole.axis.args[1]) < FEWEST:
        return []
    body = without_variables(whole.body)
    if not _is_worth_it(body, whole.axis):
        return []

    def loops(body: Sequence[Stmt], lane: Node, size: int) -> list[Stmt]:
        rows: dict[Node, Buffer] = {}
        weave: list[Stmt] = []
        for stmt in body:
            assert isinstance(stmt, Store)
            assert isinstance(stmt.place, tuple)
            buffer = stmt.place[0]
            if stmt.value not in rows:
                rows[stmt.value] = Buffer(fresh_name(f"{buffer.name}_part", taken), (size,), buffer.dtype, "row")
            weave.append(Store(stmt.place, load(rows[stmt.value], lane, buffer.dtype), stmt.eqns))
        parts: list[Stmt] = [Store((row, lane), value) for value, row in rows.items()]
        return [*map(Row, rows.values()), For(lane, number(0), number(size), parts, True, True),
                For(lane, number(0), number(size), weave, False, True)]

    return in_strips(whole, body, LONGEST, loops)


def _of_short_loop(loop: For, taken: set[str]) -> list[Stmt]:
    """Return a loop around a short one, which stores a row, in strips; nothing if there is none, or nothing to gain."""
    whole = from_zero(loop)
    if whole is None or not loop.independent or int(whole.axis.args[1]) < FEWEST or len(whole.body) != 1:
        return []
    inner = from_zero(whole.body[0]) if isinstance(whole.body[0], For) else None
    stores = without_variables(inner.body) if inner is not None and inner.simd else []
    if inner is None or len(stores) != 1 or not isinstance(stores[0], Store) \
            or not _is_dear_row(stores[0], whole.axis, inner.axis):
        return []

    def loops(body: Sequence[Stmt], lane: Node, size: int) -> list[Stmt]:
        store = body[0]
        assert isinstance(store, Store)
        assert isinstance(store.place, tuple)
        assert inner is not None
        dtype, count = store.place[0].dtype, int(inner.axis.args[1])
        row = Buffer(fresh_name(f"{store.place[0].name}_part", taken), (count * size,), dtype, "row")
        at = linear(0, [(inner.axis, size), (lane, 1)])
        parts = For(lane, number(0), number(size), [Store((row, at), store.value)], True, True)
        weave = Store(store.place, load(row, at, dtype), store.eqns)
        return [Row(row), For(inner.axis, number(0), number(count), [parts]),
                For(lane, number(0), number(size), [For(inner.axis, number(0), number(count), [weave])])]

    return in_strips(whole, stores, LONGEST // 4, loops)


def _is_dear_row(store: Store, lane: Node, place: Node) -> bool:
    """Does a loop along `place` store a row of dear numbers, too few for vectors, of neighbours along `lane`?"""
    count = int(place.args[1])
    if not isinstance(store.place, tuple) or count <= max(WOVEN_IN_VECTORS[:-1]) or count % 8 == 0 or count > MOST:
        return False
    buffer, at = store.place
    if is_complex(buffer.dtype) or stride_along(at, place) != 1 \
            or stride_along(at, lane) != count:
        return False
    halves = buffer.dtype == FLOAT16
    nodes = list(walk(expressions(store)))
    work = sum(steps(node.args[0]) for node in nodes if node.op == "apply" and {lane, place} <= node.axes)
    near = (0, 1, count) if halves else (0, 1)
    return work >= (1 if halves else DEAR) and all(
        stride_along(node.args[1], lane) in near for node in nodes if node.op == "load")


def _is_worth_it(body: Sequence[Stmt], lane: Node) -> bool:
    """Are there stores alone, side by side, so many as compilers do not weave, of what is dear?"""
    places = [stmt.place for stmt in body if isinstance(stmt, Store) and isinstance(stmt.place, tuple)]
    count = len(places)
    halves = all(buffer.dtype == FLOAT16 for buffer, _ in places)
    if count != len(body) or count > MOST or (count < FEWEST_HALVES if halves else count in WOVEN_IN_VECTORS):
        return False
    (buffer, first), *_ = places
    distances = [constant_of(subtract(at, first)) for _, at in places]
    if any(to is not buffer for to, _ in places) or None in distances or is_complex(buffer.dtype) \
            or buffer.dtype == BFLOAT16 or any(stride_along(at, lane) != count for _, at in places):
        return False
    known = [d for d in distances if d is not None]
    if sorted(d - min(known) for d in known) != list(range(count)):
        return False
    roots = [root for stmt in body for root in expressions(stmt)]
    nodes = list(walk(roots))
    work = sum(steps(node.args[0]) for node in nodes if node.op == "apply" and lane in node.axes)
    near = all(stride_along(node.args[1], lane) in (0, 1) for node in nodes if node.op == "load")
    return near and work >= (1 if halves else WORTH * count)
