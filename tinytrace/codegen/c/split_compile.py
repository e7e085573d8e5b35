"""Large programs are compiled in two parts at the same time: one text, of which each compiler process sees a half.

    gcc kernel.c                    all of it
    gcc -DTT_PART=1 kernel.c        the first half of the functions
    gcc -DTT_PART=2 kernel.c        the others, and the entry
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tinytrace.codegen.c.lines import COMMENT, CFunction, Line
from tinytrace.records import replace

LARGE = 300
"""How much work, in lines of C, from which on two processes end before one does: to start one is that of 60."""
SMALLEST = 0.2
"""What part of the work the smaller half must have."""
FUNCTION, LOOP = 20, 10
"""What a function, and what a loop, adds to its lines, by a fit to 220 functions compiled alone: gcc rewrites loops."""
AS_WRITTEN = 0.15
"""The work of a line that is not optimised."""

_HIDDEN = '__attribute__((visibility("hidden"))) '


def split_compile(functions: Sequence[CFunction], entry: CFunction) -> list[Line] | None:
    """Return the lines of a program whose entry calls these functions, in two parts; None when one is better."""
    ends = list(accumulate(map(_work, (*functions, entry))))
    count = min(range(1, len(ends) + 1), key=lambda k: abs(2 * ends[k - 1] - ends[-1]))
    smaller = min(ends[count - 1], ends[-1] - ends[count - 1])
    if ends[-1] < LARGE or smaller < SMALLEST * ends[-1]:
        return None
    heads = [Line.of("/* A large program: two compilers take one part each, TT_PART says which. */", role=COMMENT),
             *(Line.of(f"{_HIDDEN}{function.head};") for function in functions)]
    texts = [*(replace(function, linkage="").all_lines for function in functions), entry.all_lines]
    return paragraphs([heads, _line("#if TT_PART != 2"), *texts[:count], _line("#endif"), _line("#if TT_PART != 1"),
                       *texts[count:], _line("#endif")])


def _work(function: CFunction) -> float:
    """Return what it takes to compile a function, in lines of C."""
    if function.as_written:
        return AS_WRITTEN * function.size
    loops = sum("for (" in line for line in function.lines)
    return FUNCTION + function.size + LOOP * loops


def paragraphs(texts: Sequence[Sequence[Line]]) -> list[Line]:
    """Return texts one after the other, with an empty line between them."""
    return [line for k, text in enumerate(texts) for line in (*([Line.of("")] if k else []), *text)]


def _line(text: str) -> list[Line]:
    return [Line.of(text)]
