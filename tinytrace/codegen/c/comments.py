"""Comments of C: the only way by which text of users (names that they gave) enters a C program.

What such a text may contain is one alphabet, held character by character, so that nothing has to be recognised: no
character outside of it can end a comment, begin one, continue a line, or be another character in another encoding.
"""
from __future__ import annotations

import re
import string

ALPHABET = frozenset(string.ascii_letters + string.digits + " _+-/=<>()[]{}:;,.!'\"@#$%^&|~`")
"""Printable ASCII without `*`, which ends comments, and without the backslash and `?`, which join lines."""
_OUTSIDE = re.compile(f"[^{re.escape(''.join(sorted(ALPHABET)))}]")


def comment(text: str) -> list[str]:
    """Return the lines of a C comment; characters outside of `ALPHABET` are shown as dots.

    >>> comment("a */ b")
    ['/* a ./ b */']
    """
    first, *rest = [_OUTSIDE.sub(".", line) for line in text.split("\n")]
    return [f"/* {first}", *(f" * {line}" for line in rest), " */"] if rest else [f"/* {first} */"]
