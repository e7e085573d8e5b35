"""Complex numbers of eight bytes that are only moved are written as words.

`b[i] = a[j]` of two floats each is two loads and two stores to gcc, and a loop of them has no vectors: it takes three
times as long as one of words. What is stored at several places, and nothing else, is read for each: `tile(x, 3)` takes
0.2 to 0.3 of the time so.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tinytrace.codegen.c.code import Code
from tinytrace.codegen.c.far_pairs import lie_far_apart
from tinytrace.codegen.c.lines import named
from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.statements import Buffer, Stmt, Store, written

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


def read_again(code: Code, body: Sequence[Stmt]) -> None:
    """Let each of several stores of such an element read it, where nothing else does and nobody overwrites it."""
    changed = {place[0].name for stmt in body for place in written(stmt) if not isinstance(place, Node)}
    stored = Counter(stmt.value for stmt in body if isinstance(stmt, Store) and isinstance(stmt.place, tuple)
                     and stmt.value.op == "load" and stmt.value.dtype == stmt.place[0].dtype == MOVED_AS_WORDS)
    for value, times in stored.items():
        if code.uses[value] == times and value.args[0].name not in changed:
            code.uses[value] = 1
