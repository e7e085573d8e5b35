"""Loops over several axes that walk through memory as one loop would become one loop.

Two neighbouring axes i, j merge when every offset, guard and index that has i in it has i*extent(j) + j in it, and
nothing has one of them alone. So an elementwise kernel over f32[64,1000] is a single loop, whatever its rank was.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinytrace.codegen import arithmetic as ar
from tinytrace.codegen.nodes import Node, axis, number, rewrite, walk


def can_merge(nodes: Iterable[Node], outer: Node, inner: Node) -> bool:
    """Do `outer` and `inner` occur in `nodes` only as outer * extent(inner) + inner?"""
    extent = inner.args[1]
    for node in nodes:
        if outer not in node.axes and inner not in node.axes or node.op == "axis":
            continue
        if node.op == "affine":
            factors = dict(node.args[1])
            if factors.get(outer, 0) != factors.get(inner, 0) * extent:
                return False
        elif outer in node.children or inner in node.children:
            return False
    return True


def merged(outer: Node, inner: Node) -> tuple[Node, dict[Node, Node]]:
    """Return the axis that runs over both, and what to put in their places."""
    both = axis(outer.args[0], outer.args[1] * inner.args[1])
    return both, {outer: number(0), inner: both}


def stride_of(load: Node, along: Node) -> int | None:
    """Return how far a load moves in memory when `along` moves by one; None: irregularly."""
    return ar.stride_along(load.args[1], along)


def substitute(nodes: Sequence[Node], replaced: dict[Node, Node]) -> list[Node]:
    """Return `nodes` with other nodes in the place of some, simplified again."""
    return rewrite(nodes, replaced, ar.rebuild)


def loads_in(nodes: Iterable[Node]) -> list[Node]:
    """Return the loads below `nodes`."""
    return [node for node in walk(nodes) if node.op == "load"]
