"""Which way folds go through arrays: along the rows, or across them.

Sums of rows and sums of columns of a square matrix have the same extents, and could share their loops. One of the two
would take an element of each line of the array, and have driven the line out before it takes the next: six times as
long, and thirty times for the three sums of a cube. So each is a loop of its own, in the order that suits it. What
stores rows runs in no loop over the sums across them: each of these would be a column of its own then, where sums of
columns are added up side by side.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

from tinytrace.codegen.ir.arithmetic import flat_offset, stride_along
from tinytrace.codegen.ir.nodes import Node, walk

LARGE, LONG = 1 << 14, 64
"""Bytes that stay in the first-level cache whatever the order, and elements of a fold that does not matter."""

Ways: TypeAlias = "dict[object, set[bool]]"
"""For each array or value that is folded along its rows (True) or across them (False), which of these."""


class Folding(Protocol):
    """What folds, or is stored."""

    along: Ways
    combine: str
    domain: tuple[int, ...]
    free: int
    value: Node

    @property
    def axes(self) -> Sequence[Node]: ...


def ways(value: Node, axes: Sequence[Node]) -> Ways:
    """Return which way a fold of `value`, whose last axis is folded innermost, goes through what it reads."""
    found: Ways = {}
    last = axes[-1] if axes else value
    if last.op != "axis" or last.args[1] < LONG:
        return found
    for node in walk([value]):
        if node.op == "load":
            nbytes, offset = node.args[0].nbytes, node.args[1]
        elif node.op == "element":
            nbytes, offset = node.args[0].aval.nbytes, flat_offset(node.args[1:], node.args[0].aval.shape)
        else:
            continue
        stride = stride_along(offset, last)
        if nbytes > LARGE and stride:
            found.setdefault(node.args[0], set()).add(stride in (1, -1))
    return found


def crosses(fold: Folding, others: Iterable[Folding]) -> bool:
    """Does `fold` go along the rows of an array that one of the `others` goes across, or the other way round?"""
    return any(way != other.along.get(source, way) for other in others for source, way in fold.along.items())


def turns(outer: int, fold: Folding, other: Folding) -> bool:
    """Would `fold` take an element of each row in a turn of `outer` loops, inside which `other` stores rows?

    What reads the same array across its rows, to store it transposed, goes the same way.
    """
    across = bool(fold.along) and all(way == {False} for way in fold.along.values())
    inner = other.domain[outer:]
    if not across or fold.free != outer or other.combine or not inner or inner[-1] < LONG:
        return False
    read = ways(other.value, other.axes)
    return not any(read.get(source) == {False} for source in fold.along)
