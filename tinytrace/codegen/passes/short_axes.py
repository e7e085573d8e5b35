"""Loops inside of which there are only short ones carry the vectors themselves.

    for i < 100000: for j < 2 simd: g[2 i + j] = f(x[i], j)    becomes    for i simd: for j < 2: g[2 i + j] = ...

A vector has 8 or 16 lanes, of which an axis of two elements fills two, and calls the function once for each element of
`i`. Compilers unroll the short loops, and the vectors are over `i`: side by side, or at distances of a few elements,
which are exchanged within a few vectors. That holds for loops whose iterations are independent and do nothing but
compute; where elements lie farther apart, each lane would fetch a cache line of its own.

A short axis whose place decides what is computed, as in a cross product, may have been written out before. For float16
such a loop becomes a vectorised one, whose roundings are strips then (`half_strips.py`); of others compilers make one.

Up to 16 elements are short where much of what is computed depends on the place in the row alone, as the bits of an
exponent in `x[:, None] ** iota(10)` do: of what is unrolled compilers compute that, and choose what it chooses. So are
rows that are made of several arrays, of which the place chooses one, where an element is not a lane of 4 or 8 bytes:
joined float16 takes a tenth of the time, int8 and complex64 a third. So are
rows of bytes that are made of one element each, as bits and truth values are: a row of eight takes 0.15 to 0.9 of the
time, `one_hot` of int8 0.4 to 0.7.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, stride_along
from tinytrace.codegen.ir.cost import steps
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, number, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Combine,
    Declare,
    For,
    Row,
    Stmt,
    Store,
    expressions,
    nested,
    with_body,
)
from tinytrace.codegen.passes.strips import without_variables
from tinytrace.core.dtypes import BOOL, is_complex, is_half, is_integer
from tinytrace.records import replace

SHORT = 4
"""Iterations of all loops inside together, and elements from one iteration to the next: at most."""
LONGEST, ENOUGH = 16, 6
"""The same where of each element so many steps are known when the loops are unrolled."""
LANE = 4
"""Bytes of the smallest elements of which CPUs choose lanes by masks without packing them."""
BYTES_OF_A_WORD = 8
"""Rows of so many bytes are stored as words."""
FEWEST = 8
"""Iterations of the loop that is to carry the vectors. Eight points in space are worth it: of 8 to 48 in a row, each
loop takes a tenth to a half of the time with AVX-512."""


def vectorise_around_short_axes(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program in which loops around short ones are the vectorised ones."""
    return map_bodies(kernels, _changed, keep_titles=True)


def _changed(body: Sequence[Stmt]) -> list[Stmt]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and not stmt.simd:
            inner: list[Stmt] = []
            if _is_around_short(stmt):
                inner = (_converts_halves(stmt) and _written_out(stmt.body)) or _plain(stmt.body)
            elif _was_around_short(stmt) and _converts_halves(stmt):
                inner = _written_out(stmt.body)
            else:
                inner = _joined_rows(stmt)
            stmt = replace(stmt, body=inner, simd=True) if inner else with_body(stmt, _changed(stmt.body))
        result.append(stmt)
    return result


def _plain(body: Sequence[Stmt]) -> list[Stmt]:
    return [replace(stmt, body=_plain(stmt.body), simd=False) if isinstance(stmt, For) else stmt for stmt in body]


def _converts_halves(loop: For) -> bool:
    roots = [root for stmt in nested(loop.body) for root in expressions(stmt)]
    return any(node.dtype is not None and is_half(node.dtype) for node in walk(roots))


def _written_out(body: Sequence[Stmt]) -> list[Stmt]:
    """Return stores without loops and variables, of which strips of halves are made; nothing if there is more.

    Halves that are folded, or that lie apart, are converted by integer operations, which become vectors too.
    """
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            for k in range(int(stmt.axis.args[1])):
                result += Replacement({stmt.axis: number(k)}).of(stmt.body)
        else:
            result.append(stmt)
    return _written_out(result) if any(isinstance(stmt, For) for stmt in result) else without_variables(result)


def _is_around_short(loop: For) -> bool:
    inside = nested(loop.body)
    loops = [stmt for stmt in inside if isinstance(stmt, For)]
    pays = SHORT < _iterations(loop.body) <= LONGEST and (
        _known_steps(loops) >= ENOUGH or _makes_rows_of_bytes(loop, inside))
    most = LONGEST if pays else SHORT
    return loop.independent and int(loop.axis.args[1]) >= FEWEST and any(stmt.simd for stmt in loops) \
        and all(isinstance(stmt, (For, Declare, Row, Store, Combine)) for stmt in inside) \
        and all(constant_of(stmt.begin) == 0 and constant_of(stmt.end) == stmt.axis.args[1] for stmt in loops) \
        and _iterations(loop.body) <= most and _reads_in_any_case(inside) and _elements_are_near(loop, inside, most)


def _joined_rows(loop: For) -> list[Stmt]:
    """Return the stores of rows in which the place chooses the array of which an element is, of a type that has no
    lanes of its own; nothing if the loop does something else, or if more is chosen."""
    rows = [stmt for stmt in loop.body if isinstance(stmt, For)]
    axes, count = {row.axis for row in rows}, _iterations(loop.body)
    stores = [stmt for row in rows for stmt in row.body if isinstance(stmt, Store) and isinstance(stmt.place, tuple)]
    if not (loop.independent and SHORT < count <= LONGEST and int(loop.axis.args[1]) >= FEWEST) or len(rows) != 1 \
            or not stores or not all(_has_no_lanes(stmt) for stmt in stores) or not any(
                node.op == "where" and not axes.isdisjoint(node.args[0].axes)
                for stmt in stores for node in walk(expressions(stmt))):
        return []
    written = _written_out(loop.body)
    return written if _reads_in_any_case(written) and _elements_are_near(loop, written, LONGEST) else []


def _has_no_lanes(store: Store) -> bool:
    assert isinstance(store.place, tuple)
    dtype = store.place[0].dtype
    return dtype.itemsize < LANE or is_complex(dtype)


def _makes_rows_of_bytes(loop: For, inside: Sequence[Stmt]) -> bool:
    """Are rows of bytes made of one element each: eight of them, or truth values of wider integers and their places?

    Other rows of bytes are a vector each, if a short one, and read as such.
    """
    stores = [stmt for stmt in inside if isinstance(stmt, (Store, Combine))]
    if not all(not isinstance(stmt.place, Node) and stmt.place[0].dtype.itemsize == 1 for stmt in stores):
        return False
    axes = {stmt.axis for stmt in inside if isinstance(stmt, For)}
    loads = [node for node in walk(root for stmt in inside for root in expressions(stmt)) if node.op == "load"]
    along = [node for node in loads if not axes.isdisjoint(node.axes)]
    if _iterations(loop.body) == BYTES_OF_A_WORD:
        return not any(loop.axis in node.axes for node in along)
    return not along and all(map(_is_truth_value, stores)) \
        and any(is_integer(node.args[0].dtype) and node.args[0].dtype.itemsize > 1 for node in loads)


def _is_truth_value(stmt: Stmt) -> bool:
    value = stmt.value if isinstance(stmt, Store) else None
    return value is not None and BOOL in (value.dtype, *(child.dtype for child in value.children[:1]))


def _was_around_short(loop: For) -> bool:
    """Are there stores side by side in a loop, which were the iterations of a short one (`index_set_splitting`)?"""
    places = [stmt.place[1] for stmt in loop.body if isinstance(stmt, Store) and not isinstance(stmt.place, Node)]
    return loop.independent and int(loop.axis.args[1]) >= FEWEST and 1 < len(places) <= SHORT \
        and len(places) == len(loop.body) and _reads_in_any_case(loop.body) \
        and all(stride_along(place, loop.axis) == len(places) for place in places) \
        and _elements_are_near(loop, loop.body, SHORT)


def _known_steps(loops: Sequence[For]) -> int:
    """Return the steps of an element that depend on nothing but the loops' counters."""
    axes = {loop.axis for loop in loops}
    inside = walk(root for loop in loops for stmt in nested(loop.body) for root in expressions(stmt))
    varying: set[Node] = set()
    for node in inside:  # what is inside an expression comes before it
        if node.op in ("load", "local") or (node.op == "axis" and node not in axes) \
                or not varying.isdisjoint(node.children):
            varying.add(node)
    return sum(steps(node.args[0]) for node in inside if node.op == "apply" and node.axes and node not in varying)


def _iterations(body: Sequence[Stmt]) -> int:
    """Return how many iterations of innermost loops there are at most, one after the other's do not add up."""
    return max((int(stmt.axis.args[1]) * max(1, _iterations(stmt.body)) for stmt in body if isinstance(stmt, For)),
               default=0)


def _reads_in_any_case(inside: Sequence[Stmt]) -> bool:
    """Does no read depend on a condition? Unrolled, such reads lie side by side ("grouped loads" of c/quirks.py)."""
    roots = [root for stmt in inside for root in expressions(stmt)]
    return set(walk(roots, certain=True)).issuperset(node for node in walk(roots) if node.op == "load")


def _elements_are_near(loop: For, inside: Sequence[Stmt], most: int) -> bool:
    """Are all elements few places from those of the next iteration?"""
    own = {stmt.buffer for stmt in inside if isinstance(stmt, Row)}
    places = [stmt.place for stmt in inside if isinstance(stmt, (Store, Combine)) and not isinstance(stmt.place, Node)]
    roots = [root for stmt in inside for root in expressions(stmt)]
    places += [node.args[:2] for node in walk(roots) if node.op == "load"]
    strides = [0 if buffer in own else stride_along(offset, loop.axis) for buffer, offset in places]
    return all(stride is not None and 0 <= stride <= most for stride in strides)
