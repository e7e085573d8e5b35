"""Small integers that become wider numbers are converted in a loop of their own, if choices are made among these.

    for j: y[j] = log(float(b[j]))    is    for j: b_wide[j] = float(b[j])
                                            for j: y[j] = log(b_wide[j])

A loop has as many lanes as its narrowest elements have in a vector, and wider ones are some vectors each. What is made
of several comparisons then becomes a mask of bytes, and is spread out again for each of these vectors. Masks of AVX-512
are bits: there the loop stays.
"""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import stride_along
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, load, number, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Either, For, Row, Stmt, Store, expressions
from tinytrace.codegen.passes.strips import fresh_name, from_zero, in_strips, map_vector_loops, without_variables
from tinytrace.core.dtypes import BOOL, DType, element_size
from tinytrace.csources import chooses_among_choices

MASKS_OF_BITS = "__AVX512BW__"
NARROW = 4
"""Elements of fewer bytes are narrow."""
FEWEST = 64
"""Shorter loops are left as they are."""
LONGEST, MULTIPLE = 512, 64
"""Elements of a strip; as many as are whole vectors, of AVX-512 too."""
MOST = 4
"""So many conversions at most are taken out of one loop."""


def convert_to_wider_first(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose vectorised loops choose among wide numbers in vectors as wide as these."""
    taken: set[str] = set()
    return map_bodies(kernels, lambda body: map_vector_loops(body, lambda loop: _split(loop, taken)), keep_titles=True,
                      about=lambda found: any(_is_small_integer(buffer.dtype) for buffer in found.reads))


def _split(loop: For, taken: set[str]) -> list[Stmt]:
    whole = from_zero(loop)
    if whole is None or int(whole.axis.args[1]) < FEWEST:
        return [loop]
    body = without_variables(whole.body)
    if not _conversions(body, whole.axis):
        return [loop]

    def loops(body: Sequence[Stmt], lane: Node, size: int) -> list[Stmt]:
        rows = {node: Buffer(fresh_name("wide", taken), (size,), node.args[0].result, "row")
                for node in _conversions(body, lane)}
        here = {node: load(row, lane, row.dtype) for node, row in rows.items()}

        def over(statements: Sequence[Stmt]) -> For:
            return For(lane, number(0), number(size), statements, True, loop.independent)

        first = [Store((row, lane), node) for node, row in rows.items()]
        return [Either(MASKS_OF_BITS, [over(body)],
                       [*map(Row, rows.values()), over(first), over(Replacement(here).of(body))])]

    return in_strips(whole, body, LONGEST, loops, MULTIPLE)


def _conversions(body: Sequence[Stmt], lane: Node) -> list[Node]:
    """Return the conversions that are taken out of a loop; none, if others of its elements are narrow, or it does not
    pay."""
    if not all(isinstance(stmt, Store) and isinstance(stmt.place, tuple)
               and element_size(stmt.place[0].dtype) >= NARROW for stmt in body):
        return []
    roots = [root for stmt in body for root in expressions(stmt)]
    found = [node for node in walk(roots, certain=True) if _is_widened(node, lane)]
    if not 0 < len(found) <= MOST:
        return []
    left = _walk_without(roots, found)
    is_narrow = any(node.op == "load" and lane in node.axes and element_size(node.args[0].dtype) < NARROW
                    for node in left)
    if is_narrow or any(node.op == "where" for node in walk(roots)) or not _choose(left):
        return []
    return found


def _is_widened(node: Node, lane: Node) -> bool:
    """Is this a small integer of a row in memory, made wider?"""
    if node.op != "apply" or node.args[0].name != "convert_element_type" \
            or element_size(node.args[0].result) < NARROW:
        return False
    element, = node.children
    return element.op == "load" and _is_small_integer(element.dtype) and stride_along(element.args[1], lane) in (1, -1)


def _walk_without(roots: Sequence[Node], found: Sequence[Node]) -> list[Node]:
    """Return the nodes that are left in a loop without some of them."""
    left, rest = dict.fromkeys(roots), list(roots)
    while rest:
        node = rest.pop()
        new = [child for child in node.children if child not in left and node not in found]
        left.update(dict.fromkeys(new))
        rest += new
    return [node for node in left if node not in found]


def _is_small_integer(dtype: DType | None) -> bool:
    return dtype is not None and dtype.kind in "iu" and element_size(dtype) < NARROW


def _choose(nodes: Sequence[Node]) -> bool:
    """Is anything made of several comparisons?"""
    applied = [node for node in nodes if node.op == "apply"]
    choices = sum(node.args[0].name == "select_n" for node in applied)
    return choices > 1 or any(chooses_among_choices(name) for node in applied for name in node.args[0].calls) or any(
        BOOL in node.args[0].operands and node.dtype == BOOL for node in applied)
