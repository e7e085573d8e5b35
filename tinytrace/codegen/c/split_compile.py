"""Large programs are compiled in two parts at the same time: one text, of which each compiler process sees a half.

    gcc kernel.c                    all of it
    gcc -DTT_PART=1 kernel.c        the first half of the functions
    gcc -DTT_PART=2 kernel.c        the others, and the entry
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

LARGE = 300
"""Lines of C from which on two processes end before one does: starting one takes as long as compiling 150 lines."""
SMALLEST = 0.2
"""What part of the lines the smaller half must have."""

_HIDDEN = '__attribute__((visibility("hidden"))) '


def split_compile(functions: Sequence[str], entry: str) -> str | None:
    """Return the text of a program whose entry calls these functions in two parts; None when one is better."""
    texts = [*functions, entry]
    ends = list(accumulate(_lines(text) for text in texts))
    count = min(range(1, len(texts) + 1), key=lambda k: abs(2 * ends[k - 1] - ends[-1]))
    smaller = min(ends[count - 1], ends[-1] - ends[count - 1])
    if ends[-1] < LARGE or smaller < SMALLEST * ends[-1]:
        return None
    shared = [text.removeprefix("static ") for text in functions]
    heads = [_HIDDEN + text[:text.index(" {\n")] + ";" for text in shared]
    parts = [*shared, entry]
    return "\n\n".join(["/* A large program: two compilers take one part each, TT_PART says which. */\n" +
                        "\n".join(heads), "#if TT_PART != 2", *parts[:count], "#endif", "#if TT_PART != 1",
                        *parts[count:], "#endif"])


def _lines(text: str) -> int:
    """Return how many lines a function has, comments apart."""
    return sum(not line.lstrip().startswith(("/*", "*")) for line in text.splitlines())
