"""Text with optional line breaks: a `Group` is printed on one line if it fits, else its breaks become new lines.

Source: P. Wadler, "A prettier printer"; C. Lindig, "Strictly pretty" (2000). A group is laid out by what it holds
alone, not by what follows it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias


class Break:
    """A place for a new line, indented by `indent` beyond the group's own; `flat` stands there when unbroken."""

    __slots__ = ("flat", "indent")

    def __init__(self, flat: str = " ", indent: int = 0) -> None:
        self.flat = flat
        self.indent = indent


class Group:
    """Pieces that stay on one line together or not at all; `indent` is relative to the group around."""

    __slots__ = ("indent", "pieces", "width")

    def __init__(self, pieces: list[Piece], indent: int = 0) -> None:
        self.pieces = pieces
        self.indent = indent
        self.width: int = sum(map(_width, pieces))


class Marked:
    """Text with a colour (`style`), or with a `note` that stands behind its line: the user's line, a name stack."""

    __slots__ = ("note", "style", "text", "width")

    def __init__(self, text: str, style: str | None = None, note: str | None = None) -> None:
        self.text = text
        self.style = style
        self.note = note
        self.width = len(text)


class Anchor:
    """Of no width: what stands from here to the next `Anchor(None)` at the same depth is the text of `value`."""

    __slots__ = ("value",)
    width = 0

    def __init__(self, value: Any) -> None:
        self.value = value


class OneLine:
    """Text that seldom needs a second line: as it is if it fits, else the groups that `pieces` makes."""

    __slots__ = ("indent", "pieces", "text", "width")

    def __init__(self, text: str, pieces: Callable[[], list[Piece]]) -> None:
        self.text = text
        self.pieces = pieces
        self.indent = 0
        self.width = len(text)


Piece: TypeAlias = str | Break | Group | OneLine | Marked | Anchor

COLORS = {"keyword": "\033[34m", "type": "\033[35m", "note": "\033[2m"}
"""ANSI escapes: keywords blue, types magenta, notes dim, as JAX has them."""

PLAIN = "\033[0m"


def render(pieces: list[Piece], width: int = 80) -> str:
    """Lay out top-level `pieces` (whose own breaks are taken) in lines of `width` columns."""
    out: list[str] = []
    _break_up(pieces, 0, 0, width, out)
    return "".join(out)


def render_with_places(pieces: list[Piece], width: int = 80) -> tuple[str, list[tuple[int, int, Any]]]:
    """Lay out `pieces` as `render` does; Returns the text, and each anchor in it: (begin, end, value), outer first."""
    out: list[Any] = []
    _break_up(pieces, 0, 0, width, out)
    at = 0
    texts: list[str] = []
    places: list[tuple[int, int, Any]] = []
    begun: list[tuple[int, int, Any]] = []
    for piece in out:
        if isinstance(piece, str):
            texts.append(piece)
            at += len(piece)
        elif piece.value is not None:
            begun.append((len(places), at, piece.value))
            places.append((at, at, piece.value))
        else:
            place, begin, value = begun.pop()
            places[place] = begin, at, value
    return "".join(texts), places


def render_with_notes(pieces: list[Piece], width: int = 80, use_color: bool = False) -> str:
    """Lay out `pieces` as `render` does, with the notes of each line behind it, all in one column; coloured if asked.

    A line break in a program is the start of a line here: two notes never stand in one group that is not broken.
    """
    out: list[str | Marked] = []
    _break_up(pieces, 0, 0, width, out, notes=True)
    lines: list[list[str | Marked]] = [[]]
    for piece in out:
        if isinstance(piece, str) and piece.startswith("\n"):
            lines.append([])
            piece = piece[1:]
        lines[-1].append(piece)
    column = max(sum(map(_width, line)) for line in lines)
    return "\n".join(text for line in lines for text in _noted(line, column, use_color))


def _noted(line: list[str | Marked], column: int, use_color: bool) -> list[str]:
    """Return the text of a line, and a further line for each note after the first."""
    text = "".join(_styled(piece, use_color) for piece in line)
    notes = [piece.note for piece in line if isinstance(piece, Marked) and piece.note is not None]
    if not notes:
        return [text]
    if use_color:
        notes = [f"{COLORS['note']}{note}{PLAIN}" for note in notes]
    gap = " " * (column - sum(map(_width, line)))
    return [f"{text}{gap} # {notes[0]}", *[f"{' ' * column} # {note}" for note in notes[1:]]]


def _styled(piece: str | Marked, use_color: bool) -> str:
    if isinstance(piece, str):
        return piece
    return f"{COLORS[piece.style]}{piece.text}{PLAIN}" if use_color and piece.style else piece.text


def _width(piece: Piece) -> int:
    if type(piece) is str:
        return len(piece)
    return len(piece.flat) if type(piece) is Break else piece.width  # type: ignore[union-attr]


def _holds_two_lines_of_notes(group: Group) -> bool:
    """Say whether a break stands between two notes: such a group is never put on one line."""
    found = [x for x in _leaves(group) if isinstance(x, Break) or x.note is not None]
    notes = [i for i, x in enumerate(found) if isinstance(x, Marked)]
    return len(notes) > 1 and any(isinstance(x, Break) for x in found[notes[0]:notes[-1]])


def _leaves(group: Group) -> Iterator[Break | Marked]:
    for piece in group.pieces:
        if isinstance(piece, Group):
            yield from _leaves(piece)
        elif isinstance(piece, (Break, Marked)):
            yield piece


def _break_up(pieces: list[Piece], indent: int, column: int, width: int, out: list[Any], notes: bool = False) -> int:
    for piece in pieces:
        if type(piece) is str:
            out.append(piece)
            column += len(piece)
        elif type(piece) is Group:
            if column + piece.width <= width and not (notes and _holds_two_lines_of_notes(piece)):
                _flatten(piece, out)
                column += piece.width
            else:
                column = _break_up(piece.pieces, indent + piece.indent, column, width, out, notes)
        elif type(piece) is Break:
            column = indent + piece.indent
            out.append("\n" + " " * column)
        elif type(piece) is OneLine:
            if column + piece.width <= width:
                out.append(piece.text)
                column += piece.width
            else:
                column = _break_up(piece.pieces(), indent + piece.indent, column, width, out, notes)
        else:
            out.append(piece)
            column += piece.width  # type: ignore[union-attr]
    return column


def _flatten(group: Group, out: list[Any]) -> None:
    for piece in group.pieces:
        if type(piece) is str:
            out.append(piece)
        elif type(piece) is Group:
            _flatten(piece, out)
        elif type(piece) is OneLine:
            out.append(piece.text)
        else:
            out.append(piece.flat if type(piece) is Break else piece)
