"""Text with optional line breaks: a `Group` is printed on one line if it fits, else its breaks become new lines.

Source: P. Wadler, "A prettier printer"; C. Lindig, "Strictly pretty" (2000). A group is laid out by what it holds
alone, not by what follows it.
"""
from __future__ import annotations

from typing import TypeAlias


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


Piece: TypeAlias = str | Break | Group


def render(pieces: list[Piece], width: int = 80) -> str:
    """Lay out top-level `pieces` (whose own breaks are taken) in lines of `width` columns."""
    out: list[str] = []
    _break_up(pieces, 0, 0, width, out)
    return "".join(out)


def _width(piece: Piece) -> int:
    if isinstance(piece, str):
        return len(piece)
    return piece.width if isinstance(piece, Group) else len(piece.flat)


def _break_up(pieces: list[Piece], indent: int, column: int, width: int, out: list[str]) -> int:
    for piece in pieces:
        if type(piece) is str:
            out.append(piece)
            column += len(piece)
        elif type(piece) is Group:
            if column + piece.width <= width:
                _flatten(piece, out)
                column += piece.width
            else:
                column = _break_up(piece.pieces, indent + piece.indent, column, width, out)
        else:
            column = indent + piece.indent  # type: ignore[union-attr]
            out.append("\n" + " " * column)
    return column


def _flatten(group: Group, out: list[str]) -> None:
    for piece in group.pieces:
        if type(piece) is str:
            out.append(piece)
        elif type(piece) is Group:
            _flatten(piece, out)
        else:
            out.append(piece.flat)  # type: ignore[union-attr]
