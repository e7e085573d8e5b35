"""Which words of a text have a colour, by its language. Colours are for reading only: nothing depends on them."""
from __future__ import annotations

import re

KEYWORD, TYPE, COMMENT = "b", "i", "u"
"""The elements of HTML that stand for what a word is; the style of the page part says how they look."""

_WORDS = {
    "jaxpr": re.compile(r"(?P<b>\blambda\b|\blet\b|^ *in\b(?= \()|\bin (?=\())|(?P<i>(?<=\w):\w+\[[^\]\n]*\])",
                        re.MULTILINE),
    "kernels": re.compile(r"^(?P<b>\w[^:\n]*)(?=:)", re.MULTILINE),
    "c": re.compile(r"(?P<u>/\*(?:.|\n)*?\*/|^ *#.*$)|\b(?P<b>for|if|else|while|return|switch|case|break)\b",
                    re.MULTILINE),
    "text": re.compile(r"(?!)"),
}


def coloured(text: str, language: str) -> list[tuple[int, int, str]]:
    """Return the words of a text that have a colour: begin, end, and the element that stands for it.

    >>> coloured("{ lambda ; a:f32[3]. let", "jaxpr")
    [(2, 8, 'b'), (12, 19, 'i'), (21, 24, 'b')]
    """
    return [(*match.span(match.lastgroup or 0), match.lastgroup or "") for match in _WORDS[language].finditer(text)]
