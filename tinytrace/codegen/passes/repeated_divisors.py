"""Integers that are divided by one number again and again are multiplied by its reciprocal.

    for i < n: y[i] = x[i] % d    is    for i < n: y[i] = rem_by(x[i], d, reciprocal(d))

What does not change in a loop is computed before it, so there is one division for all of its iterations. No CPU has
vectors of integer quotients, and one of 64 bits takes 20 to 90 cycles, where the product and the shifts take two.

    for i < n: for j < 8: y[i, j] = x[i] / d[j]

    is    for each strip of 64 i: for j < 8: d_inverse[j] = reciprocal(d[j])
                                  for i: for j < 8: y[i, j] = div_by(x[i], d[j], d_inverse[j])

Divisors that are those of each row, as powers of ten are when digits are taken, have a row of reciprocals: eight digits
of int32 take 0.4 to 0.5 of the time (Zen 4).
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, rebuild
from tinytrace.codegen.ir.inserted_operations import divided, reciprocal
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, apply, load, number, own_by, rewrite, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Buffer,
    Declare,
    For,
    Row,
    Stmt,
    Store,
    changed,
    expressions,
    nested,
    with_body,
)
from tinytrace.codegen.passes.strips import fresh_name, from_zero, in_strips
from tinytrace.core.formulas import suffix

FEWEST = 64
"""Iterations for which a reciprocal is worth its division."""
LONGEST = 1024
"""Divisors in a row, at most."""


def multiply_by_reciprocals(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program in which loops divide by no integer that stays the same."""
    taken: set[str] = set()
    return map_bodies(kernels, lambda body: _changed(body, taken), about=lambda found: "apply" in found.operators)


def _changed(body: Sequence[Stmt], taken: set[str]) -> list[Stmt]:
    result: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, For):
            result.append(stmt)
        elif any(isinstance(inner, For) for inner in stmt.body):
            inside = with_body(stmt, _changed(stmt.body, taken))
            result += _by_row(inside, taken) or [inside]
        else:
            result.append(_loop(stmt))
    return result


def _by_row(loop: For, taken: set[str]) -> list[Stmt]:
    """Return a loop around rows, which divides each by the same numbers, in strips; nothing if it does not."""
    whole = from_zero(loop)
    if whole is None or not whole.independent or int(whole.axis.args[1]) < FEWEST:
        return []
    rows = [row for stmt in whole.body if isinstance(stmt, For) and (row := from_zero(stmt)) is not None and row.simd]
    if len(rows) != 1 or sum(isinstance(stmt, For) for stmt in whole.body) > 1 or int(rows[0].axis.args[1]) > LONGEST:
        return []
    place = rows[0].axis
    body = [rows[0] if isinstance(stmt, For) else stmt for stmt in whole.body]
    inside = {stmt.local for stmt in nested(body) if isinstance(stmt, Declare)}
    arrays = changed(body)
    quotients = [node for node in walk(root for stmt in rows[0].body for root in expressions(stmt))
                 if _divides_by_variable(node) and place in node.args[2].axes and whole.axis in node.axes
                 and _stays(node.args[2], whole.axis, inside, arrays)]
    if not quotients:
        return []
    divisors = dict.fromkeys(node.args[2] for node in quotients)
    of = {y: reciprocal(y.dtype) for y in divisors if y.dtype is not None}
    inverse = {y: Buffer(fresh_name("inverse", taken), (int(place.args[1]),), operation.result, "row")
               for y, operation in of.items()}
    found: dict[Node, Node] = {}
    for node in quotients:
        there = inverse[node.args[2]]
        found[node] = _by_reciprocal(node, found, load(there, place, there.dtype))

    def strip(body: Sequence[Stmt], lane: Node, size: int) -> list[Stmt]:
        fill = [Store((row, place), apply(of[y], (y,))) for y, row in inverse.items()]
        return [*map(Row, inverse.values()), For(place, number(0), number(int(place.args[1])), fill, False, True),
                For(lane, number(0), number(size), body, independent=True)]

    return in_strips(whole, Replacement(found).of(body), FEWEST, strip)


def _loop(loop: For) -> For:
    begin, end = constant_of(loop.begin), constant_of(loop.end)
    if begin is None or end is None or end - begin < FEWEST:
        return loop
    roots = [root for stmt in nested(loop.body) for root in expressions(stmt)]
    inside = {stmt.local for stmt in nested(loop.body) if isinstance(stmt, Declare)}
    arrays = changed(loop.body)
    found: dict[Node, Node] = {}
    for node in walk(roots):  # what is inside an expression comes before it
        if _divides_by_variable(node) and loop.axis in node.axes and _stays(node.args[2], loop.axis, inside, arrays):
            found[node] = _by_reciprocal(node, found)
    return with_body(loop, Replacement(found).of(loop.body)) if found else loop


def _divides_by_variable(node: Node) -> bool:
    """Is this an integer quotient or remainder, of as many bits as it is computed in, by what is not known yet?"""
    if node.op != "apply" or node.dtype is None or node.dtype.kind not in "iu" or node.dtype.itemsize < 4:
        return False
    operation, end = node.args[0], suffix(node.dtype)
    return operation.calls in ((f"tt_div_{end}",), (f"tt_rem_{end}",)) and node.args[2].op != "literal"


def _stays(divisor: Node, axis: Node, inside: set[Node], arrays: set[str]) -> bool:
    """Is a divisor the same in all iterations of a loop, which has variables of its own and changes these arrays?"""
    return axis not in divisor.axes and not any(
        node in inside or (node.op == "load" and node.args[0].name in arrays) for node in walk([divisor]))


def _by_reciprocal(quotient: Node, found: dict[Node, Node], inverse: Node | None = None) -> Node:
    operation, x, y = quotient.args
    x, = rewrite([x], dict(found), rebuild)
    inverse = inverse or apply(reciprocal(y.dtype), (y,))
    result = apply(divided(operation), (x, y, inverse))
    for node in (inverse, result):
        own_by(node, quotient.eqns)
    result.hint = quotient.hint
    return result
