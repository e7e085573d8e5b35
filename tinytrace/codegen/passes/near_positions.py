"""The first place of a narrow element is searched block by block, with positions as narrow as the elements.

    b = none                                          b = none
    for i < 100000: b = min(b, a[i] == c ? i : none)  is  for j < 520: if b == none:
                                                              near = 255
                                                              for k < 192: near = min(near, a[192 j + k] == c ? k : 255)
                                                              b = min(b, near < 255 ? 192 j + near : none)
                                                          (and what is left after the last block)

A vector of flags for bytes becomes four of flags for positions of 32 bits, each with its choice and minimum; of
positions within a block it stays one. And what lies behind a block in which the place is found need not be read.
`argmin` of 100,000 bytes takes 0.15 of the time, and 0.35 where the place is the last one (Zen 3).
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinytrace.codegen.ir.arithmetic import compare, constant_of, index_of, linear, terms_of, where
from tinytrace.codegen.ir.inserted_operations import is_search, position_of
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, apply, axis, cast, literal, local, number, value_of
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Combine, Declare, For, Stmt, When, with_body
from tinytrace.codegen.passes.strips import without_variables
from tinytrace.core.storage_types import integer_limits

BLOCKS = {1: 192, 2: 480}
"""Elements of a block by their bytes: whole vectors of 64 bytes, whose positions are less than the greatest number, and
fewer than `parallel_folds` gives several variables."""
FEWEST = 16
"""Shorter loops are left as they are."""


def search_in_blocks(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose loops for the first place of a narrow element count no further than they must."""
    return map_bodies(kernels, _body, keep_titles=True, about=lambda found: "cast" in found.operators)


def _body(body: Sequence[Stmt]) -> list[Stmt]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and stmt.simd:
            result += _searched(stmt, result[-1] if result else None)
        elif isinstance(stmt, (For, When)):
            result.append(with_body(stmt, _body(stmt.body)))
        else:
            result.append(stmt)
    return result


def _searched(loop: For, before: Stmt | None) -> list[Stmt]:
    """Return a loop for the smallest position in blocks, if nothing was found `before`; other loops as they are."""
    extent = int(loop.axis.args[1])
    found = _first_place(loop)
    if found is None or loop.grain or extent < FEWEST or constant_of(loop.begin) != 0 \
            or constant_of(loop.end) != extent or not (isinstance(before, Declare) and before.local is found.place
                                                       and before.value is found.value.args[4]):
        return [loop]
    name, size = str(loop.axis.args[0]), BLOCKS[found.value.args[1].dtype.itemsize]
    if extent <= size:
        return _in_block(loop, found, number(0), extent)
    blocks = extent // size
    block = axis(f"{name}_near", blocks)
    is_unknown = compare("eq", index_of(found.place), number(int(value_of(found.value.args[4]))))
    result: list[Stmt] = [For(block, number(0), number(blocks),
                              [When(is_unknown, _in_block(loop, found, linear(0, [(block, size)]), size))])]
    if extent % size:
        result.append(When(is_unknown, _in_block(loop, found, number(blocks * size), extent % size)))
    return result


def _first_place(loop: For) -> Combine | None:
    """Return what such a loop does, if that is all: take the least of the positions, which grow, of narrow integers."""
    folds = without_variables(loop.body)
    if len(folds) != 1:
        return None
    fold, = folds
    if not (isinstance(fold, Combine) and fold.op == "min" and isinstance(fold.place, Node)
            and is_search(fold.value)):
        return None
    _, x, extreme, position, none = fold.value.args
    is_narrow = isinstance(x.dtype, np.dtype) and x.dtype.kind in "biu" and x.dtype.itemsize in BLOCKS
    grows = position.op == "cast" and dict(terms_of(position.args[0])[1]).get(loop.axis) == 1 and \
        sum(loop.axis in node.axes for node, _ in terms_of(position.args[0])[1]) == 1
    return fold if is_narrow and grows and none.op == "literal" and loop.axis not in extreme.axes else None


def _in_block(loop: For, found: Combine, begin: Node, size: int) -> list[Stmt]:
    """Return the search of `size` elements from `begin` on."""
    lane, value = axis(str(loop.axis.args[0]), size), found.value
    moved, = Replacement({loop.axis: linear(0, [(begin, 1), (lane, 1)])}).of([found])
    assert isinstance(moved, Combine)
    assert isinstance(found.place, Node)
    _, x, extreme, *_ = moved.value.args
    narrow = np.dtype(f"u{x.dtype.itemsize}")
    most = int(integer_limits(narrow).max)
    near = local(f"{found.place.args[0]}_near", narrow)
    near.eqns |= found.place.eqns
    at = apply(position_of(x.dtype, narrow, False), (x, extreme, cast(lane, narrow), literal(most, narrow)))
    at.eqns |= value.eqns
    place = index_of(near)
    _, _, _, position, none = value.args
    far, = Replacement({loop.axis: linear(0, [(begin, 1), (place, 1)])}).of([Combine(found.place, "min", position)])
    assert isinstance(far, Combine)
    result = where(compare("lt", place, number(most)), far.value, none)
    return [Declare(near, literal(most, narrow)),
            For(lane, number(0), number(size), [Combine(near, "min", at)], True, loop.independent),
            Combine(found.place, "min", result)]
