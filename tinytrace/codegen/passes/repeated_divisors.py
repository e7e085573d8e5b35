"""Integers that are divided by one number again and again are multiplied by its reciprocal.

    for i < n: y[i] = x[i] % d    is    for i < n: y[i] = rem_by(x[i], d, reciprocal(d))

What does not change in a loop is computed before it, so there is one division for all of its iterations. No CPU has
vectors of integer quotients, and one of 64 bits takes 20 to 90 cycles, where the product and the shifts take two.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, rebuild
from tinytrace.codegen.ir.inserted_operations import divided, reciprocal
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, apply, own_by, rewrite, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Declare, For, Stmt, changed, expressions, nested, with_body
from tinytrace.core.formulas import suffix

FEWEST = 64
"""Iterations for which a reciprocal is worth its division."""


def multiply_by_reciprocals(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program in which loops divide by no integer that stays the same."""
    return map_bodies(kernels, _changed, about=lambda found: "apply" in found.operators)


def _changed(body: Sequence[Stmt]) -> list[Stmt]:
    return [_loop(stmt) if isinstance(stmt, For) else stmt for stmt in body]


def _loop(loop: For) -> For:
    if any(isinstance(stmt, For) for stmt in loop.body):
        return with_body(loop, _changed(loop.body))
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


def _by_reciprocal(quotient: Node, found: dict[Node, Node]) -> Node:
    operation, x, y = quotient.args
    x, = rewrite([x], dict(found), rebuild)
    inverse = apply(reciprocal(y.dtype), (y,))
    result = apply(divided(operation), (x, y, inverse))
    for node in (inverse, result):
        own_by(node, quotient.eqns)
    result.hint = quotient.hint
    return result
