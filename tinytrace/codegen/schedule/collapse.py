"""Loops over several axes that walk through memory as one loop would become one loop, and others become several.

Two neighbouring axes i, j merge when every offset, guard and index that has i in it has i*extent(j) + j in it, and
nothing has one of them alone. So an elementwise kernel over f32[64,1000] is a single loop, whatever its rank was.

An axis i that a reshape joined is cut where every other place has i / n and i % n: `x.T.reshape(-1)`, pixels and
patches of images, `kron`. Quotient and remainder are loops then: no element's place is divided, rows are copied as
rows, and what reads across the rows of an array is seen to do so. Loops that divide by up to 8, or have up to 8
quotients, are left to `passes/quotients.py`, which writes these out.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, linear, rebuild, stride_along
from tinytrace.codegen.ir.nodes import Node, axis, number, rewrite, walk

WRITTEN_OUT = 8
"""Up to so many quotients, or remainders, are written one after the other, by `passes/quotients.py`."""
FEWEST_LANES, LANES = 32, 16
"""Where more is done than to copy, a vectorised loop has so many iterations at least, or a multiple of `LANES`."""


def can_merge(roots: Sequence[Node], outer: Node, inner: Node) -> bool:
    """Do `outer` and `inner` occur in `roots` only as outer * extent(inner) + inner? None of these is an axis alone."""
    if outer in roots or inner in roots:
        return False
    extent = inner.args[1]
    for node in walk(roots):
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
        if can_merge(nodes, axes[k - 1], axes[k]):
            both, replaced = merged(axes[k - 1], axes[k])
            axes[k - 1:k + 1] = [both]
            nodes = rewrite(nodes, replaced, rebuild)
    return axes, nodes


def split_loops(axes: Sequence[Node], nodes: Sequence[Node]) -> tuple[list[Node], dict[Node, Node]]:
    """Cut those of `axes` that `nodes` divide; Returns the axes anew, and what to put in the places of old ones."""
    axes, replaced = list(axes), dict[Node, Node]()
    k = len(axes) - 1
    while k >= 0:
        divisor = _divisor(axes[k], walk(nodes))
        if not divisor or not (_suits_lanes(axes[k], divisor, nodes) if k == len(axes) - 1
                               else _meets(axes[k], divisor, axes[k + 1:], nodes)):
            k -= 1
            continue
        old, (q, r, place) = axes[k], _cut(axes[k], divisor)
        axes[k:k + 1] = [q, r]  # next the quotient is looked at: it may be divided again
        nodes = rewrite(nodes, {old: place}, rebuild)
        replaced = {a: rewrite([b], {old: place}, rebuild)[0] for a, b in replaced.items()} | {old: place}
    return axes, replaced


def _cut(a: Node, divisor: int) -> tuple[Node, Node, Node]:
    """Return the axes of quotients and of remainders of an axis, and what it is in terms of these."""
    q, r = axis(f"{a.args[0]}_outer", a.args[1] // divisor), axis(a.args[0], divisor)
    return q, r, linear(0, [(q, divisor), (r, 1)])


def _divisor(a: Node, nodes: Sequence[Node]) -> int:
    """Return where to cut an axis: all that divides it is a multiple of that, and no guard asks for it; 0: nowhere."""
    found = set()
    for node in nodes:
        if node.op in ("floordiv", "mod") and node.args[0] is a:
            found.add(constant_of(node.args[1]) or 0)
        elif node.op not in ("affine", "load", "axis", "floordiv", "mod") and any(
                child is a or (child.op == "affine" and a in child.children) for child in node.children):
            return 0
    smallest = min(found, default=0)
    fits = smallest and not a.args[1] % smallest and not any(d % smallest for d in found)
    return smallest if fits and smallest < a.args[1] else 0


def _suits_lanes(a: Node, divisor: int, nodes: Sequence[Node]) -> bool:
    """Are so many remainders a vectorised loop?"""
    once = sum(node.op in ("floordiv", "mod") and node.args[0] is a for node in walk(nodes))
    if divisor <= WRITTEN_OUT or (a.args[1] // divisor <= WRITTEN_OUT and once == 1):
        return False
    copies = not any(node.op == "apply" for node in walk(nodes))
    return copies or divisor >= FEWEST_LANES or divisor % LANES == 0


def _meets(a: Node, divisor: int, inner: Sequence[Node], nodes: Sequence[Node]) -> bool:
    """Do the remainders of an outer axis merge with the next one, or is there an array that is read across its rows?"""
    _, r, place = _cut(a, divisor)
    if can_merge(rewrite(nodes, {a: place}, rebuild), r, inner[0]):
        return True
    return any(node.op == "load" and a in node.axes and stride_along(node.args[1], inner[-1]) not in (0, 1)
               for node in walk(nodes))
