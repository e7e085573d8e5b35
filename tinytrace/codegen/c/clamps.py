"""Positions that are read from elements of 32 bits, and clamped, are clamped in 32 bits.

    a[(int64_t)tt_min_i32(tt_max_i32(i[j], 0), 64)]

CPUs read a vector of elements from anywhere by positions of 32 or of 64 bits: of the latter there are half as many in a
vector, and clamping takes a comparison and a choice without AVX-512. With 32 bits a binary search in 65 floats takes
0.68 of the time (AVX2).
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinytrace.codegen.c.lines import named
from tinytrace.codegen.ir.arithmetic import constant_of
from tinytrace.codegen.ir.nodes import Node


def clamps_words(node: Node) -> bool:
    """Is a position the smaller or larger of what 32 bits hold?"""
    return node.op in ("min", "max") and all(map(_is_word, node.args))


def position(element: Node, text: str) -> str:
    """Return an element as a position in C; what is beyond all positions is the last one."""
    assert element.dtype is not None
    text = f"{named('tt_min_u64')}({text}, __INT64_MAX__)" if element.dtype == np.uint64 else text
    return f"(int64_t){text}"


def clamped(node: Node, operand: Callable[[Node], str], name_of: Callable[[Node], str | None]) -> str:
    """Return the smaller or larger of two positions in C.

    operand: the text of an expression.  name_of: the variable that holds one, if one does.
    """
    if clamps_words(node):
        return f"(int64_t){_in_words(node, operand, name_of)}"
    a, b = map(operand, node.args)
    return f"{a} {'<' if node.op == 'min' else '>'} {b} ? {a} : {b}"


def _in_words(node: Node, operand: Callable[[Node], str], name_of: Callable[[Node], str | None]) -> str:
    """Return a position in C, of type int32_t."""
    if (known := constant_of(node)) is not None:
        return str(known)
    if (name := name_of(node)) is not None:
        return f"(int32_t){name}"
    if node.op == "index":
        return operand(node.args[0])
    return f"{named(f'tt_{node.op}_i32')}({', '.join(_in_words(x, operand, name_of) for x in node.args)})"


def _is_word(x: Node) -> bool:
    if (known := constant_of(x)) is not None:
        return -(1 << 31) <= known < 1 << 31
    return clamps_words(x) or (x.op == "index" and -(1 << 31) <= x.low <= x.high < 1 << 31)
