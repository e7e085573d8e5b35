"""Tables of texts, for notebooks and for terminals."""
from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any


def html_table(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table for notebooks; its cells are texts, not HTML.

    >>> html_table(["a"], [["<b>"]])
    '<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    def line(tag: str, cells: Sequence[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line('th', titles)}{''.join(line('td', row) for row in rows)}</table>"


def text_table(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table for terminals: columns in line, numbers to the right.

    >>> print(text_table(["name", "n"], [["a", 1], ["bc", 10]]))
    name   n
    a      1
    bc    10
    """
    columns = [[title, *map(str, column)] for title, column in
               zip(titles, zip(*rows, strict=True) if rows else [()] * len(titles), strict=True)]
    widths = [max(map(len, column)) for column in columns]
    is_number = [bool(rows) and all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(titles))]
    lines = [[cell.rjust(width) if right else cell.ljust(width) for cell, width, right in
              zip(line, widths, is_number, strict=True)] for line in zip(*columns, strict=True)]
    return "\n".join("  ".join(line).rstrip() for line in lines)
