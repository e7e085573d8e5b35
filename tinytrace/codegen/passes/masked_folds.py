"""A loop that folds nothing but zeros, save where its axis has one value, is its iteration for that value: a trace.

    for j < n: s += (j == i + k ? x[i, j] : 0)    is    if 0 <= i + k < n: s += x[i, i + k]

So it is where sums are cut into blocks, each with variables of its own: one block has that iteration.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinytrace.codegen.ir.arithmetic import both, compare, constant_of, index_of, linear, terms_of
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, value_of
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Combine, Declare, For, Stmt, When, expressions, nested, with_body, written
from tinytrace.core.storage_types import integer_limits

OF_ZERO = "sum", "or", "xor"
"""The folds that a zero changes in nothing. It would make 0 of -0, which no sum is that begins with 0."""
KEEPING_ZERO = "convert_element_type", "real", "imag"


def fold_one_iteration(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program in which such a loop is the one iteration that changes anything."""
    return map_bodies(kernels, lambda body: _without_loops(body, _sums(body)),
                      about=lambda found: "cast" in found.operators)


def _sums(body: Sequence[Stmt]) -> set[Node]:
    """Return the variables that begin as zeros, into which is only folded."""
    begun: set[Node] = set()
    others: set[Node] = set()
    for stmt in nested(body):
        if isinstance(stmt, Declare):
            (begun if _is_zero(stmt.value) else others).add(stmt.local)
        elif not isinstance(stmt, Combine):
            others |= {place for place in written(stmt) if isinstance(place, Node)}
    return begun - others


def _without_loops(body: Sequence[Stmt], sums: set[Node]) -> list[Stmt]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            place = _only_iteration(stmt, sums)
            result += _iteration(stmt, place) if place is not None else _block(stmt, sums) or [
                with_body(stmt, _without_loops(stmt.body, sums))]
        else:
            result.append(stmt)
    return result


def _iteration(loop: For, place: Node) -> list[Stmt]:
    guard = both(compare("le", loop.begin, place), compare("lt", place, loop.end))
    body = Replacement({loop.axis: place}).of(loop.body)
    return body if constant_of(guard) else [When(guard, body)]


def _block(blocks: For, sums: set[Node]) -> list[Stmt]:
    """Return the one iteration of the loop in a loop over blocks; nothing if there may be others."""
    half = len(blocks.body) // 2
    totals = _totals(blocks.body[:half], blocks.body[half + 1:], sums)
    if not totals or not isinstance(inner := blocks.body[half], For):
        return []
    place, size, begin = _only_iteration(inner, sums), constant_of(inner.end), constant_of(inner.begin)
    if place is None or begin != 0 or size is None:
        return []
    constant, terms = terms_of(place)
    whole = linear(constant, [(node, k) for node, k in terms if node is not blocks.axis])
    folds = {stmt.place: stmt.op for stmt in inner.body if isinstance(stmt, Combine)}
    body = Replacement({inner.axis: place, **{part: total for part, (total, _) in totals.items()}}).of(inner.body)
    stays = not any(blocks.axis in root.axes for stmt in body for root in expressions(stmt))
    if dict(terms).get(blocks.axis) != -size or folds != {part: op for part, (_, op) in totals.items()} or not stays:
        return []
    guard = both(compare("le", linear(0, [(blocks.begin, size)]), whole),
                 compare("lt", whole, linear(0, [(blocks.end, size)])))
    return [When(guard, body)]


def _totals(begun: Sequence[Stmt], ended: Sequence[Stmt], sums: set[Node]) -> dict[Node, tuple[Node, str]]:
    """Return the sums that the variables of a block are added to, with the fold; none if something else is there."""
    totals = {stmt.value: (stmt.place, stmt.op) for stmt in ended
              if isinstance(stmt, Combine) and isinstance(stmt.place, Node) and stmt.place in sums
              and stmt.op in OF_ZERO}
    parts = {stmt.local for stmt in begun if isinstance(stmt, Declare)}
    whole = len(parts) == len(begun) == len(ended) and parts == set(totals)
    return totals if whole and len({total for total, _ in totals.values()}) == len(parts) else {}


def _only_iteration(loop: For, sums: set[Node]) -> Node | None:
    """Return where a loop's axis is in the one iteration that changes anything; None where there may be others."""
    places = {_place_of(stmt, loop.axis, sums) for stmt in loop.body}
    return places.pop() if len(places) == 1 else None


def _place_of(stmt: Stmt, axis: Node, sums: set[Node]) -> Node | None:
    if not (isinstance(stmt, Combine) and stmt.op in OF_ZERO and isinstance(stmt.place, Node) and stmt.place in sums):
        return None
    value = stmt.value
    while value.op == "apply" and value.args[0].name in KEEPING_ZERO:
        value = value.args[1]
    if not (_is(value, "select_n") and _is_zero(value.args[2]) and _is(value.args[1], "eq")):
        return None
    _, one, other = value.args[1].args
    return _where_equal(one, other, axis)


def _where_equal(a: Node, b: Node, axis: Node) -> Node | None:
    """Return the value of `axis` for which two integers are equal; None where that is not known to be one at most."""
    one, other = (a, b) if axis in a.axes else (b, a)
    index = _index(one)
    place = _index(other, spare=_quarter(one)) if index is not None and abs(index.low) < _quarter(one) \
        and index.high < _quarter(one) else None
    if index is None or place is None or axis in place.axes:
        return None
    constant, terms = terms_of(index)
    factor = dict(terms).get(axis, 0)
    rest = [(node, -factor * k) for node, k in terms if node is not axis]
    if abs(factor) != 1 or any(axis in node.axes for node, _ in rest):
        return None
    return linear(-factor * constant, [(place, factor), *rest])


def _quarter(x: Node) -> int:
    assert isinstance(x.dtype, np.dtype)
    return 1 << max(0, int(integer_limits(x.dtype).bits) - 2)


def _index(x: Node, spare: int = 0) -> Node | None:
    """Return an integer as an index, where no sum wraps around; or by no more than `spare`, with a sign.

    What has wrapped by no more than a quarter of its range lies, as the sum itself does, outside of a quarter around 0.
    """
    if x.dtype is None or x.dtype.kind not in "iu":
        return None
    limits, spare = integer_limits(x.dtype), spare if x.dtype.kind == "i" else 0
    if _is(x, "add") or _is(x, "sub"):
        parts = _index(x.args[1]), _index(x.args[2])
        if parts[0] is None or parts[1] is None:
            return None
        index = linear(0, [(parts[0], 1), (parts[1], 1 if _is(x, "add") else -1)])
    else:
        index = index_of(x)
    return index if limits.min - spare <= index.low and index.high <= limits.max + spare else None


def _is(x: Node, operation: str) -> bool:
    return x.op == "apply" and bool(x.args[0].name == operation)


def _is_zero(x: Node) -> bool:
    """Is it a literal whose bits are all zero?"""
    return x.op == "literal" and not any(value_of(x).tobytes())
