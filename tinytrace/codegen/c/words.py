"""Complex numbers of eight bytes that are only moved are written as words.

`b[i] = a[j]` of two floats each is two loads and two stores to gcc, and a loop of them has no vectors: it takes three
times as long as one of words.
"""
from __future__ import annotations

import numpy as np

from tinytrace.codegen.c.code import Code
from tinytrace.codegen.c.far_pairs import lie_far_apart
from tinytrace.codegen.c.lines import named
from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.statements import Buffer

MOVED_AS_WORDS = np.dtype(np.complex64)


def as_word(code: Code, place: tuple[Buffer, Node], value: Node, text: str) -> str:
    """Return the assignment of an element that is read and stored; nothing if that is not all, or not of this type.

    What lies far apart is a word too, whatever its value is, of which `text` is the C (`far_pairs.py`).
    """
    to, at = place
    axis = code.loop.axis if code.loop else None
    if lie_far_apart(*place, axis) and not (value.op == "load" and code.name_of(value) is None):
        return f"((uint64_t *){named(to.name)})[{code.value(at)}] = {named('tt_word_of_complex')}({text})"
    if to.dtype != MOVED_AS_WORDS or value.op != "load" or value.dtype != to.dtype or code.name_of(value) is not None \
            or code.uses[value] > 1:
        return ""
    code.prepare(value.certain, value)
    source = f"((const uint64_t *){named(value.args[0].name)})[{code.value(value.args[1])}]"
    return f"((uint64_t *){named(to.name)})[{code.value(at)}] = {source}"
