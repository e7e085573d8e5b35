"""Whether the lowest bit is set is asked of the sign, so that a loop has vectors where it is one of some conditions.

    const uint8_t h = (g & 1) == 0;     is     const uint8_t h = (int32_t)((uint32_t)(g & 1) << 31) >= 0;

gcc takes the lowest bit for a truth value of one bit, `(_Bool) g`, and has no vectors of these where the next operation
takes a comparison with it: a step on the red fields of a checkerboard, `where(((i + j) % 2 == 0) & (u < p), -s, s)`,
takes 0.1 of the time so. Of any other bit it makes a comparison itself.
"""
from __future__ import annotations

from tinytrace.codegen.ir.nodes import Node, value_of
from tinytrace.codegen.ir.statements import For
from tinytrace.core.dtypes import BOOL, is_integer
from tinytrace.core.formulas import Formula, cast, operand


def lowest_bit(loop: For | None, node: Node) -> Formula | None:
    """Return how a test of the lowest bit is written in a vectorised loop, if `node` is one."""
    if loop is None or not loop.simd or node.dtype != BOOL:
        return None
    name, is_clear = node.args[0].name, False
    if name in ("eq", "ne") and (number := _number(node.children[1])) in (0, 1):
        is_clear = number == (name == "ne")
    elif name != "convert_element_type":
        return None
    bit = node.children[0]
    if not _is_bit(bit) or bit.dtype is None:
        return None
    width = 8 * bit.dtype.itemsize
    sign = cast(f"int{width}_t", cast(f"uint{width}_t", operand(0, bit.dtype)) << width - 1)
    return sign >= 0 if is_clear else sign < 0


def _is_bit(node: Node) -> bool:
    """Is it `x & 1` of an integer?"""
    return node.op == "apply" and node.args[0].name == "and" and node.dtype is not None and is_integer(node.dtype) \
        and 1 in map(_number, node.children)


def _number(node: Node) -> int | None:
    return int(value_of(node)) if node.op == "literal" and node.dtype is not None and is_integer(node.dtype) else None
