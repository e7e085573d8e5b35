"""Loops over several axes that walk through memory as one loop would become one loop.

Two neighbouring axes i, j merge when every offset, guard and index that has i in it has i*extent(j) + j in it, and
nothing has one of them alone. So an elementwise kernel over f32[64,1000] is a single loop, whatever its rank was.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinytrace.codegen.ir.arithmetic import rebuild
from tinytrace.codegen.ir.nodes import Node, axis, number, rewrite, walk


def can_merge(nodes: Iterable[Node], outer: Node, inner: Node) -> bool:
    """Do `outer` and `inner` occur in `nodes` only as outer * extent(inner) + inner?"""
    extent = inner.args[1]
    for node in nodes:
        if (outer not in node.axes and inner not in node.axes) or node.op == "axis":
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


def merge_loops(axes: Sequence[Node], nodes: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """Merge what can be merged of nested loops over `axes` that evaluate `nodes`; Returns both anew."""
    axes, nodes = [a for a in axes if a.op == "axis"], list(nodes)
    for k in range(len(axes) - 1, 0, -1):
        if can_merge(walk(nodes), axes[k - 1], axes[k]):
            both, replaced = merged(axes[k - 1], axes[k])
            axes[k - 1:k + 1] = [both]
            nodes = rewrite(nodes, replaced, rebuild)
    return axes, nodes
