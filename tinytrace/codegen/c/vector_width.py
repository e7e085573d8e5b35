"""How wide a function's vectors are, where CPUs have more than one width.

Intel's CPUs with AVX-512 get vectors of 512 bits, as AMD's do (`runtime/flags.py`): sums, maxima and functions take
0.55 to 0.9 of the time that they take with 256 bits, which is what gcc would give them. Functions that only move
elements, or whose loops are short and leave much over, take 1.1 of it: those say that they are narrow. The width is
never chosen where it would be seen: a sum in vectors adds as many partial sums as there are lanes.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from tinytrace.codegen.ir.cost import steps
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import (
    Call,
    Combine,
    Either,
    For,
    Inclusive,
    Stmt,
    When,
    expressions,
    nested,
    written,
)
from tinytrace.core.dtypes import BOOL, element_size, is_inexact

NARROW = "TT_NARROW"
"""Before a function whose vectors are of 256 bits on Intel's CPUs."""
DEFINITION = f"""#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__) && \\
    !(defined(__tune_znver3__) || defined(__tune_znver4__) || defined(__tune_znver5__))
#define {NARROW} __attribute__((target("prefer-vector-width=256"))) /* loops that move more than they compute */
#else
#define {NARROW}
#endif
"""
FEWEST = 64
"""Of shorter loops too much may be left over by wide vectors."""
LANES = 16
"""Elements of four bytes in a vector of 512 bits."""


def attributes(body: Sequence[Stmt]) -> tuple[str, ...]:
    """Return what stands before a function of these statements."""
    lengths = [_extent(stmt.axis) for stmt in nested(body) if isinstance(stmt, For) and stmt.simd]
    if not lengths or any(shows_lanes(stmt) or _splits_masks(stmt) for stmt in nested(body)):
        return ()
    work, moved = _work_and_elements(body, (), is_vectorised=False)
    return (NARROW,) if work < moved or _have_much_left_over(lengths) else ()


def _splits_masks(stmt: Stmt) -> bool:
    """Does it choose between elements of eight bytes by some of one or two?

    A mask for 16 or 32 lanes of these would become masks for four each, which gcc cannot make of it: where vectors are
    of 256 bits there are none.
    """
    nodes = walk(expressions(stmt))
    return any(node.op == "apply" and node.args[0].chooses and BOOL in node.args[0].operands
               and element_size(node.args[0].result) >= 8 for node in nodes) \
        and any(node.op == "load" and element_size(node.args[0].dtype) <= 2 for node in nodes)


def _have_much_left_over(lengths: Sequence[int]) -> bool:
    """Is a good part of short loops left over by the widest vectors?"""
    return max(lengths) < FEWEST and any(length % LANES for length in lengths)


def _work_and_elements(body: Sequence[Stmt], loops: tuple[Node, ...], is_vectorised: bool) -> tuple[int, int]:
    """Return the steps that vectorised loops take, and how many elements of arrays they load and store.

    What is read again in each turn of a loop is in the first cache then, as is what is on the stack.
    """
    work = moved = 0
    for stmt in body:
        if isinstance(stmt, For):
            inside = is_vectorised or (stmt.simd and _extent(stmt.axis) >= FEWEST)
            inner = _work_and_elements(stmt.body, (*loops, stmt.axis), inside)
            work, moved = work + inner[0], moved + inner[1]
        elif isinstance(stmt, (Either, When)):
            inner = _work_and_elements(stmt.body, loops, is_vectorised)
            work, moved = work + inner[0], moved + inner[1]
        if is_vectorised:
            nodes = walk(expressions(stmt))
            done = sum(steps(node.args[0]) for node in nodes if node.op == "apply") + isinstance(stmt, Combine)
            work += done * math.prod(map(_extent, loops))
            places = [(node.args[0], node) for node in nodes if node.op == "load"]
            places += [place for place in written(stmt) if not isinstance(place, Node)]
            moved += sum(math.prod(_extent(axis) for axis in loops if axis in place.axes)
                         for buffer, place in places if buffer.space != "row")
    return work, moved


def _extent(axis: Node) -> int:
    return int(axis.args[1])


def shows_lanes(stmt: Stmt) -> bool:
    """Does a result depend on the number of lanes, or is it computed in loops that are not known here?"""
    if isinstance(stmt, Combine) and isinstance(stmt.place, Node):
        assert stmt.value.dtype is not None
        return is_inexact(stmt.value.dtype) and stmt.op not in ("max", "min")
    return isinstance(stmt, Inclusive) or (isinstance(stmt, Call) and stmt.flops > 0)
