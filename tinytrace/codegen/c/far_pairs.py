"""Complex numbers of eight bytes at every third place are read and stored as words, whatever is computed with them.

    o[3*i] = a[3*i + 1] * b[3*i + 2]     (a cross product; points in space)

Six floats of an iteration lie side by side. Compilers exchange lanes of groups of two, four, eight, and of three, but
not of six: such a loop has no vectors. Of words there are three, and a word is cut in two without leaving its lane.

So it is at every larger distance, as across the rows of a matrix: `abs(z.T)` takes 0.11 of the time.
"""
from __future__ import annotations

import numpy as np

from tinytrace.codegen.c.lines import named
from tinytrace.codegen.ir.arithmetic import stride_along
from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.statements import Buffer

CUT_IN_TWO = np.dtype(np.complex64)
IN_VECTORS = 0, 1, 2, 4
"""Distances at which compilers exchange the lanes of pairs of floats."""


def lie_far_apart(array: Buffer, offset: Node, loop: Node | None) -> bool:
    """Are elements of two floats three places apart, or farther, from one iteration to the next?"""
    if array.dtype != CUT_IN_TWO or loop is None:
        return False
    stride = stride_along(offset, loop)
    return stride is not None and abs(stride) not in IN_VECTORS


def element(array: Buffer, offset: Node, text: str, loop: Node | None) -> str:
    """Return the element at `offset`, whose text is given, as it is read in a loop along the axis `loop`."""
    name = named(array.name)
    if lie_far_apart(array, offset, loop):
        return f"{named('tt_complex_of_word')}(((const uint64_t *){name})[{text}])"
    return f"{name}[{text}]"

