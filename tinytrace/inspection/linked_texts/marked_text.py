"""A text whose parts belong to equations."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tinytrace.records import NamedTuple


class Part(NamedTuple):
    """The characters `begin` up to `end` of a text, and the ids of the equations to which they belong."""

    begin: int
    end: int
    equations: tuple[int, ...]


class Pane(NamedTuple):
    """One of the linked texts.

    Args:
      key: its name in the page's code.
      title: its heading.
      text: the text itself.
      parts: outer ones first; each lies in one line, and two of them lie apart or one inside the other.
      numbers: what stands before each line: its number in its file, an address, or nothing.
    """

    key: str
    title: str
    text: str
    parts: tuple[Part, ...] = ()
    numbers: tuple[int | None, ...] = ()

    def lines_of(self, equation: int) -> list[int]:
        """Return the lines of the text, counted from 0, that have a part of an equation."""
        starts = [self.text.count("\n", 0, part.begin) for part in self.parts if equation in part.equations]
        return sorted(set(starts))


def in_lines(text: str, parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return parts cut where lines end, without the space before a line, and nested: what overlaps is cut short.

    parts: of two that are the same characters the outer one first.

    >>> in_lines("a b\\n  c", [Part(2, 7, (1,))])
    (Part(begin=2, end=3, equations=(1,)), Part(begin=6, end=7, equations=(1,)))
    """
    pieces = sorted((piece for part in parts for piece in _pieces(text, part)), key=lambda p: (p.begin, -p.end))
    nested: list[Part] = []
    around: list[int] = []
    for piece in pieces:
        while around and nested[around[-1]].end <= piece.begin:
            around.pop()
        if around:
            outer = nested[around[-1]]
            piece = piece._replace(end=min(piece.end, outer.end))
            if piece == outer:
                continue
        around.append(len(nested))
        nested.append(piece)
    return tuple(nested)


def _pieces(text: str, part: Part) -> Iterator[Part]:
    begin = part.begin
    for line in text[part.begin:part.end].split("\n"):
        stripped = line.strip()
        if stripped and part.equations:
            first = begin + line.index(stripped)
            yield Part(first, first + len(stripped), part.equations)
        begin += len(line) + 1


def lines_as_parts(lines: Sequence[str], equations: Sequence[Iterable[int]]) -> tuple[Part, ...]:
    """Return each line of a text as a part of its equations."""
    parts, begin = [], 0
    for line, ids in zip(lines, equations, strict=True):
        parts.append(Part(begin, begin + len(line), tuple(sorted(ids))))
        begin += len(line) + 1
    return in_lines("\n".join(lines), parts)
