"""Loops with long chains of operations become several, one after the other over a strip of elements.

    for j: y[j] = erf(log(x[j]))    is    for j: log_part[j] = log(x[j])
                                          for j: y[j] = erf(log_part[j])

A processor looks some hundreds of instructions ahead. In a long chain of operations that is not even two iterations of
the loop, and it waits for results; in a shorter one it finds the next iterations to work on.

    for j: y[j] = lgamma((float)x[j])    is    for j: b_row[j] = (float)x[j]
                                               for j: y[j] = lgamma(b_row[j])

Where x has bytes, and lgamma of a float is computed in double precision: compilers take as many elements at once as a
vector has of the narrowest type, which are 8 vectors of doubles, more than there are registers for.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.cost import CALL, DIVISION, steps
from tinytrace.codegen.ir.nodes import Node, load, walk
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Stmt, Store
from tinytrace.core.dtypes import FLOAT16, element_size, is_integer
from tinytrace.csources import is_long, takes_doubles

LONG_CHAIN = 30
"""Steps, each on the result of the one before, from which a loop is cut; side by side they need no cut."""
SHORT_CALL = 2
"""Of which each call of a function of a few instructions counts so many: a maximum, a root, a sign."""
MOST_CROSSING = 4
"""Values that one loop may leave to the next; each is stored and loaded."""


def fission(body: Sequence[Stmt], lane: Node, length: int) -> tuple[list[Buffer], list[list[Stmt]]]:
    """Return the arrays that loops leave values in, and the body of each; lane: the variable of the loops."""
    values = [stmt.value for stmt in body if isinstance(stmt, Store)]
    nodes = walk(values)
    depth: dict[Node, int] = {}  # of the longest chain of operations that ends here
    for node in nodes:
        depth[node] = _weight(node) + max([depth[child] for child in node.children], default=0)
    longest = max(depth.values(), default=0)
    if len(values) < len(body) or any(node.op == "where" for node in nodes) \
            or any(node.dtype == FLOAT16 for node in nodes):  # `half_strips` cuts these at their roundings
        return [], [list(body)]
    plans = [_widened(nodes)]
    if longest >= LONG_CHAIN and not plans[0]:
        limits = [limit for limit in sorted(set(depth.values())) if longest < 3 * limit < 2 * longest]
        plans = [_crossing(nodes, depth, limit) for limit in limits]
    crossing = min((plan for plan in plans if 1 <= len(plan) <= MOST_CROSSING), default=[],
                   key=lambda plan: _heavier(nodes, plan))
    if not crossing:
        return [], [list(body)]
    rows = {node: Buffer(_row_name(node, crossing), (length,), dtype, "row")
            for node in crossing if (dtype := node.dtype) is not None}
    first: list[Stmt] = [Store((row, lane), node) for node, row in rows.items()]
    later: dict[Node, Node] = {node: load(row, lane, row.dtype) for node, row in rows.items()}
    return list(rows.values()), [first, Replacement(later).of(body)]


def _row_name(node: Node, others: Sequence[Node]) -> str:
    alike = [other for other in others if other.hint == node.hint]
    number = f"_{alike.index(node)}" if len(alike) > 1 else ""
    return f"{node.hint or 'value'}_row{number}"


def _weight(node: Node) -> int:
    """Return about how many instructions a value takes: `steps` counts all calls as long ones."""
    if node.op != "apply":
        return 0
    short = sum(not is_long(name) for name in node.args[0].calls)
    return steps(node.args[0]) - (CALL - SHORT_CALL) * short


def _widened(nodes: Sequence[Node]) -> list[Node]:
    """Return what narrow integers become, if something is computed in double precision."""
    if not any(takes_doubles(name) for node in nodes if node.op == "apply" for name in node.args[0].calls):
        return []
    return [node for node in nodes if node.op == "apply" and node.dtype is not None and element_size(node.dtype) >= 4
            and [_is_narrow_integer(child) for child in node.children] == [True]]


def _is_narrow_integer(node: Node) -> bool:
    return node.op == "load" and node.dtype is not None and is_integer(node.dtype) and element_size(node.dtype) < 4


def _crossing(nodes: Sequence[Node], depth: dict[Node, int], limit: int) -> list[Node]:
    """Return the values of the first loop that the second one needs and would not rather compute again."""
    dear: set[Node] = {node for node in nodes if _weight(node) >= DIVISION}
    for node in nodes:
        if any(child in dear for child in node.children):
            dear.add(node)
    used = {child for node in nodes if depth[node] > limit for child in node.children}
    return [node for node in nodes if node in used and node in dear and depth[node] <= limit]


def _heavier(nodes: Sequence[Node], crossing: Sequence[Node]) -> int:
    """Return the work of the heavier loop."""
    first = sum(map(_weight, walk(crossing)))
    return max(first, sum(map(_weight, nodes)) - first)
