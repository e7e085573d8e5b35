"""Comments of C: the only way by which text of users (names that they gave) enters a generated program.

What such a text may contain is one alphabet, held character by character, so that nothing has to be recognised: no
character outside of it can end a comment, begin one, continue a line, or be another character in another encoding.
(The files of `api/export_c.py` name parameters after users' names too, in letters, digits and `_` alone.)
"""
from __future__ import annotations

import re
import string
from collections.abc import Collection, Sequence

from tinytrace.codegen.c.lines import COMMENT, Line
from tinytrace.codegen.ir.equations import Equation, written_out
from tinytrace.records import NamedTuple

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


class PendingComment(Line):
    """The place of a comment about equations, until it is known which names stand in the function."""

    __slots__ = ("equations", "heading", "indent")

    heading: str
    equations: Sequence[Equation]
    indent: str

    @classmethod
    def at(cls, indent: str, heading: str, equations: Sequence[Equation]) -> PendingComment:
        """Return the place of a comment: the heading, if there is one, and the equations."""
        line = cls.of("", role=COMMENT)
        assert isinstance(line, PendingComment)
        line.indent, line.heading, line.equations = indent, heading, equations
        return line

    def lines(self, names: NamesInC) -> list[Line]:
        """Return the comment; names: those of the function that it stands in."""
        shown = written_out(self.equations, names.read.get, names.stored.get)
        text = "\n".join([self.heading, *("    " + line for line in shown)] if self.heading else shown)
        return [Line.of(line, self.indent, COMMENT) for line in comment(text)]


class NamesInC(NamedTuple):
    """How C calls values that are read, and those that are stored."""

    read: dict[str, str]
    stored: dict[str, str]

    @classmethod
    def of(cls, standing: Collection[str]) -> NamesInC:
        """standing: the names of arrays and variables in a function."""
        return cls(names_in_c(standing, ("", "_i", "_before", "_row")), names_in_c(standing, ("", "_i", "_row")))


def names_in_c(standing: Collection[str], suffixes: Sequence[str]) -> dict[str, str]:
    """Return the names under which C knows values: their own, or those of their elements, rows or earlier states.

    suffixes: each is empty or begins with an underscore.

    >>> names_in_c({"a", "b_i", "b_row"}, ("", "_i", "_row"))["b"]
    'b_i'
    """
    found: dict[str, str] = {}
    longer = [name for name in standing if "_" in name]
    for suffix in reversed(suffixes):  # the first is the best
        found.update((name.removesuffix(suffix), name) for name in (longer if suffix else standing)
                     if name.endswith(suffix))
    return found
