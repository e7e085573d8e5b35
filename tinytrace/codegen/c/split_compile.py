"""Large programs are compiled in two parts at the same time: one text, of which each compiler process sees a half.

    gcc kernel.c                    all of it
    gcc -DTT_PART=1 kernel.c        some of the functions, half of the work
    gcc -DTT_PART=2 kernel.c        the others, and the entry
"""
from __future__ import annotations

from collections.abc import Sequence, Set

from tinytrace.codegen.c.lines import COMMENT, CFunction, Line
from tinytrace.records import replace

LARGE = 300
"""How much work, in lines of C, from which on two processes end before one does: to start one is that of 60."""
SMALLEST = 0.2
"""What part of the work the smaller half must have."""
FUNCTION, LOOP = 20, 10
"""What a function, and what a loop, adds to its lines, by a fit to 220 functions compiled alone: gcc rewrites loops."""
INLINED = 15
"""What the call of a math function adds, whose lines become the caller's."""
AS_WRITTEN = 0.23
"""The work of a line that is not optimised."""

_HIDDEN = '__attribute__((visibility("hidden"))) '


def split_compile(functions: Sequence[CFunction], entry: CFunction) -> list[Line] | None:
    """Return the lines of a program whose entry calls these functions, in two parts; None when one is better."""
    own = {function.name for function in functions}
    work = [_work(function, own) for function in functions]
    parts: tuple[list[int], list[int]] = [], []
    totals = [0.0, _work(entry, own)]
    for k in sorted(range(len(work)), key=work.__getitem__, reverse=True):  # each goes where less is, the largest first
        side = totals[1] < totals[0]
        parts[side].append(k)
        totals[side] += work[k]
    if sum(totals) < LARGE or min(totals) < SMALLEST * sum(totals):
        return None
    heads = [Line.of("/* A large program: two compilers take one part each, TT_PART says which. */", role=COMMENT),
             *(Line.of(f"{_HIDDEN}{function.head};") for function in functions)]
    first, second = ([replace(functions[k], linkage="").all_lines for k in sorted(part)] for part in parts)
    return paragraphs([heads, _line("#if TT_PART != 2"), *first, _line("#endif"), _line("#if TT_PART != 1"), *second,
                       entry.all_lines, _line("#endif")])


def _work(function: CFunction, own: Set[str]) -> float:
    """Return what it takes to compile a function, in lines of C; own: functions that are not inlined."""
    if function.as_written:
        return AS_WRITTEN * function.size
    loops = sum("for (" in line for line in function.lines)
    inlined = sum(name.startswith("tt_") and not name.startswith("tt_fma_") and name not in own
                  for line in function.lines for name in line.names)
    return FUNCTION + function.size + LOOP * loops + INLINED * inlined


def paragraphs(texts: Sequence[Sequence[Line]]) -> list[Line]:
    """Return texts one after the other, with an empty line between them."""
    return [line for k, text in enumerate(texts) for line in (*([Line.of("")] if k else []), *text)]


def _line(text: str) -> list[Line]:
    return [Line.of(text)]
