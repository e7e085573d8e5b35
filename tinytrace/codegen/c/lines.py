"""Lines of C that know where they come from: marks stand in the text while it is put together, and leave with the line.

An expression is written by many hands, each of which puts texts of others into its own. So what is known of a piece of
text travels in the text: `marked` puts it between control characters, which C never has, and `Line` takes them out and
remembers from which column to which each reached. The names of arrays and functions are marked too (`named`): a line
knows which it mentions, and nothing is looked for in finished C.

The names are needed for every program, the columns only by those who ask where a line comes from: they are found then.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence

from tinytrace.records import NamedTuple, dataclass

COMPUTE, COPY, CALL, SCAFFOLD, COMMENT = "compute", "copy", "call", "scaffold", "comment"
"""What a line does: arithmetic, moving numbers, calling something that takes arrays, what holds others together."""
_BEGIN, _TEXT, _END, _NAME, _NAMED = "\x02", "\x1f", "\x03", "\x0e", "\x0f"
_MARKS = re.compile(f"({_BEGIN}[^{_TEXT}]*{_TEXT}|{_END}|{_NAME}|{_NAMED})")
_NAMES = re.compile(f"{_NAME}([^{_NAMED}]*)")


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


class Facts(NamedTuple):
    """What is known of a line besides its text."""

    spans: tuple[Span, ...]
    role: str
    eqns: frozenset[int]


class Line(str):
    """A line of C, with what was marked in it."""

    __slots__ = ("_column", "_counterparts", "_eqns", "_found", "_marked", "_role", "names")

    names: Sequence[str]
    """The arrays and functions that it mentions, as often as it does."""
    _marked: str
    """Its text with the marks; nothing if there are none."""
    _column: int
    """Where its text begins."""
    _role: str
    """The role that was given for it, which its marks may change."""
    _eqns: frozenset[int]
    """The equations that were given for it, besides those of its marks."""
    _counterparts: Mapping[int, frozenset[int]]
    """For some equations those that the line stands for too."""
    _found: Facts | None

    @classmethod
    def of(cls, text: str, indent: str = "", role: str = SCAFFOLD, eqns: Iterable[int] = ()) -> Line:
        """Return the line that a text with marks is.

        role, eqns: what is known of the line besides its marks. A line that does something and has neither marks nor
        equations is scaffolding.
        """
        has_spans, has_names = _BEGIN in text, _NAME in text
        plain = _MARKS.sub("", text) if has_spans or has_names else text
        line = cls(indent + plain if plain else "")
        line.names = _NAMES.findall(text) if has_names else ()
        line._marked = text if has_spans else ""
        line._column = len(indent)
        line._role = role
        line._eqns = frozenset(eqns)
        line._counterparts = _NONE
        line._found = None
        return line

    @property
    def spans(self) -> tuple[Span, ...]:
        """The columns that were marked."""
        return self._known.spans

    @property
    def role(self) -> str:
        """What it does."""
        return self._known.role

    @property
    def is_comment(self) -> bool:
        """Does it do nothing? No mark is needed to know that."""
        return self._role == COMMENT

    @property
    def eqns(self) -> frozenset[int]:
        """The equations of the whole line: those of its spans, or what was given for it."""
        return self._known.eqns

    @property
    def _known(self) -> Facts:
        if self._found is None:
            given = Facts((), self._role, self._eqns)
            self._found = _read(self._marked, self._column, given) if self._marked else given
            if self._counterparts:
                self._found = _with_counterparts(self._found, self._counterparts)
        return self._found

    def owned_by(self, eqns: frozenset[int]) -> Line:
        """Return this line, which belongs to `eqns` if it belongs to no equation yet."""
        if not self._marked and not self._eqns:  # without any: copies of what is there already, for the caller
            self._role, self._eqns = self._role if eqns else SCAFFOLD, eqns
        return self

    def also(self, counterparts: Mapping[int, frozenset[int]]) -> Line:
        """Return this line as one that stands for further equations too: for each of its own, for its counterparts."""
        line = self._copied(str(self))
        line._counterparts = counterparts
        return line

    def outdented(self) -> Line:
        """Return this line one level further to the left."""
        line = self._copied(self[4:])
        line._column -= 4
        return line

    def _copied(self, text: str) -> Line:
        line = Line(text)
        line.names, line._marked, line._column = self.names, self._marked, self._column
        line._role, line._eqns = self._role, self._eqns
        line._counterparts, line._found = self._counterparts, None
        return line


_NONE: Mapping[int, frozenset[int]] = {}


def _read(text: str, column: int, given: Facts) -> Facts:
    """Return what the marks in a text that begins in a column tell."""
    spans: list[Span] = []
    open_marks: list[tuple[int, str]] = []
    for piece in _MARKS.split(text):
        if piece == _END:
            begin, mark = open_marks.pop()
            role, *ids = mark[1:-1].split(" ")
            spans.append(Span(begin, column, frozenset(map(int, ids)), role))
        elif piece[:1] == _BEGIN:
            open_marks.append((column, piece))
        elif piece not in (_NAME, _NAMED):
            column += len(piece)
    role = given.role
    if role in (SCAFFOLD, COPY):
        role = COMPUTE if any(span.role == COMPUTE for span in spans) else COPY
    return Facts(tuple(sorted(spans)), role, given.eqns.union(*[span.eqns for span in spans]))


def _with_counterparts(facts: Facts, counterparts: Mapping[int, frozenset[int]]) -> Facts:
    def also(eqns: frozenset[int]) -> frozenset[int]:
        return eqns.union(*(counterparts.get(k, ()) for k in eqns))

    spans = tuple(span._replace(eqns=also(span.eqns)) for span in facts.spans)
    return Facts(spans, facts.role, also(facts.eqns))


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
    as_written: bool = False
    """Is it compiled without optimisation?"""

    @property
    def all_lines(self) -> list[Line]:
        """The lines of the function, the first and the last included."""
        return [*map(Line.of, self.attributes), Line.of(f"{self.linkage}{self.head} {{"), *self.lines, Line.of("}")]

    @property
    def size(self) -> int:
        """How many lines a compiler reads: comments apart."""
        return 2 + sum(not line.is_comment for line in self.lines)
