"""Lines of C that know where they come from: marks stand in the text while it is put together, and leave with the line.

An expression is written by many hands, each of which puts texts of others into its own. So what is known of a piece of
text travels in the text: `marked` puts it between control characters, which C never has, and `Line` takes them out and
remembers from which column to which each reached. The names of arrays and functions are marked too (`named`): a line
knows which it mentions, and nothing is looked for in finished C.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence

from tinytrace.records import NamedTuple, dataclass

COMPUTE, COPY, CALL, SCAFFOLD, COMMENT = "compute", "copy", "call", "scaffold", "comment"
"""What a line does: arithmetic, moving numbers, calling something that takes arrays, what holds others together."""
_BEGIN, _TEXT, _END, _NAME, _NAMED = "\x02", "\x1f", "\x03", "\x0e", "\x0f"
_MARKS = re.compile(f"({_BEGIN}[^{_TEXT}]*{_TEXT}|{_END}|{_NAME}[^{_NAMED}]*{_NAMED})")


class Span(NamedTuple):
    """Columns `begin` up to `end` of a line, counted from 0, and the ids of the equations that they compute or move."""

    begin: int
    end: int
    eqns: frozenset[int]
    role: str


def marked(text: str, eqns: frozenset[int], role: str) -> str:
    """Return a piece of C that remembers its equations until it is part of a line."""
    return f"{_mark(eqns, role)}{text}{_END}" if eqns else text


def named(name: str) -> str:
    """Return the name of an array, of a function or of the host as a piece of C: its line knows that it is used."""
    return f"{_NAME}{name}{_NAMED}"


HOST = named("host")


def names_in(lines: Iterable[Line]) -> dict[str, int]:
    """Return how often lines mention each name."""
    found: dict[str, int] = {}
    for line in lines:
        for name in line.names:
            found[name] = found.get(name, 0) + 1
    return found


@functools.lru_cache(maxsize=4096)
def _mark(eqns: frozenset[int], role: str) -> str:
    return f"{_BEGIN}{role} {' '.join(map(str, sorted(eqns)))}{_TEXT}"


@functools.lru_cache(maxsize=4096)
def _read_mark(mark: str) -> tuple[frozenset[int], str]:
    """Return the equations and the role that a mark tells."""
    role, *ids = mark[1:-1].split(" ")
    return frozenset(map(int, ids)), role


class Line(str):
    """A line of C, with what was marked in it."""

    __slots__ = ("eqns", "names", "role", "spans")

    spans: tuple[Span, ...]
    role: str
    eqns: frozenset[int]
    """Of the whole line: those of its spans, or what was given for it."""
    names: Sequence[str]
    """The arrays and functions that it mentions, as often as it does."""

    @classmethod
    def of(cls, text: str, indent: str = "", role: str = SCAFFOLD, eqns: Iterable[int] = ()) -> Line:
        """Return the line that a text with marks is.

        role, eqns: what is known of the line besides its marks. A line that does something and has neither marks nor
        equations is scaffolding.
        """
        names: list[str] = []
        plain, spans = _without_marks(text, len(indent), names) if _BEGIN in text or _NAME in text else (text, ())
        line = cls(indent + plain if plain else "")
        line.spans, line.names = spans, names
        line.eqns = frozenset(eqns)
        line.role = role
        if not spans:
            return line
        line.eqns = line.eqns.union(*[span.eqns for span in spans])
        if role in (SCAFFOLD, COPY):
            line.role = COMPUTE if any(span.role == COMPUTE for span in spans) else COPY
        return line

    def also(self, counterparts: Mapping[int, frozenset[int]]) -> Line:
        """Return this line as one that stands for further equations too: for each of its own, for its counterparts."""
        line = Line(self)
        line.spans = tuple(span._replace(eqns=_also(span.eqns, counterparts)) for span in self.spans)
        line.role, line.eqns, line.names = self.role, _also(self.eqns, counterparts), self.names
        return line

    def outdented(self) -> Line:
        """Return this line one level further to the left."""
        line = Line(self[4:])
        line.spans = tuple(span._replace(begin=span.begin - 4, end=span.end - 4) for span in self.spans)
        line.role, line.eqns, line.names = self.role, self.eqns, self.names
        return line


def _also(eqns: frozenset[int], counterparts: Mapping[int, frozenset[int]]) -> frozenset[int]:
    return eqns.union(*(counterparts.get(k, ()) for k in eqns)) if eqns else eqns


def _without_marks(text: str, column: int, names: list[str]) -> tuple[str, tuple[Span, ...]]:
    plain: list[str] = []
    spans: list[Span] = []
    open_marks: list[tuple[int, str]] = []
    for piece in _MARKS.split(text):
        if piece == _END:
            begin, mark = open_marks.pop()
            spans.append(Span(begin, column, *_read_mark(mark)))
        elif piece[:1] == _BEGIN:
            open_marks.append((column, piece))
        elif piece[:1] == _NAME:
            names.append(piece[1:-1])
            plain.append(piece[1:-1])
            column += len(piece) - 2
        elif piece:
            plain.append(piece)
            column += len(piece)
    return "".join(plain), tuple(sorted(spans))


@dataclass(frozen=True)
class CFunction:
    """A function of C."""

    name: str
    head: str
    """What stands before its body."""
    lines: Sequence[Line]
    standing: frozenset[str] = frozenset()
    """The names of arrays and variables in it."""
    linkage: str = "static "
    attributes: Sequence[str] = ()
    """Lines before its head."""

    @property
    def all_lines(self) -> list[Line]:
        """The lines of the function, the first and the last included."""
        return [*map(Line.of, self.attributes), Line.of(f"{self.linkage}{self.head} {{"), *self.lines, Line.of("}")]

    @property
    def size(self) -> int:
        """How many lines a compiler reads: comments apart."""
        return 2 + sum(line.role != COMMENT for line in self.lines)
