"""Texts as HTML, and their parts as data for the page's script.

What comes from users (names, source, file names) enters HTML through `escaped` and `as_json`, and nowhere else.
"""
from __future__ import annotations

import bisect
import functools
import html
import importlib.resources
import json
from collections.abc import Sequence
from typing import Any

from tinytrace.inspection.linked_texts.marked_text import Pane


class Numbered(dict[Any, int]):
    """Gives each key a number, in the order of asking."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]


@functools.cache
def fixed_part(package: str, name: str) -> str:
    """Return the text of a file of a package of this folder.

    >>> fixed_part("linked_texts", "texts.css")[:5]
    ':root'
    """
    return importlib.resources.files(f"tinytrace.inspection.{package}").joinpath(name).read_text("utf-8")


def escaped(text: str, quote: bool = False) -> str:
    """Return text as HTML; what no encoding can hold is a question mark.

    >>> escaped("a < b & c")
    'a &lt; b &amp; c'
    """
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"), quote)


def as_json(value: Any) -> str:
    """Return JSON that can stand inside a script of a page.

    >>> as_json(["</script>"])
    '["\\\\u003c/script>"]'
    """
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def framed(page: str, title: str, height: int) -> str:
    """Return a page as an element of a notebook's cell: in a frame of its own, which may run its script, no more."""
    return (f'<iframe srcdoc="{escaped(page, quote=True)}" sandbox="allow-scripts" '
            f'title="{escaped(title, quote=True)}" style="width:100%;height:{height}px;border:0"></iframe>')


def section(pane: Pane) -> str:
    """Return a text with its heading; it can be reached by the keyboard."""
    heading = f'<h2 id="h-{pane.key}">{escaped(pane.title)} <span>{escaped(_size(pane))}</span></h2>'
    attributes = f'id="{pane.key}" tabindex="0" role="group" aria-labelledby="h-{pane.key}" data-title="{pane.title}"'
    return f"<section>\n{heading}\n<pre {attributes}>\n{escaped(pane.text)}</pre>\n</section>\n"


def marks(panes: Sequence[Pane], sets: Numbered) -> dict[str, dict[str, list[Any]]]:
    """Return the parts and the numbers of the lines of each text; sets: numbers the sets of equations."""
    return {pane.key: {"parts": _parts(pane, sets), "numbers": _steps(pane.numbers)} for pane in panes}


def _size(pane: Pane) -> str:
    lines = pane.text.count("\n") + 1
    return f"{lines} lines" if lines > 1 else ""


def _parts(pane: Pane, sets: Numbered) -> list[int]:
    """Return the parts of a text as one list: from the last beginning to this one, length, number of the set.

    A script counts a character outside of Unicode's first plane twice.
    """
    wide = [k for k, c in enumerate(pane.text) if c > "\uffff"]
    flat: list[int] = []
    last = 0
    for begin, end, ids in pane.parts:
        begin, end = begin + bisect.bisect_left(wide, begin), end + bisect.bisect_left(wide, end)
        flat += [begin - last, end - begin, sets[ids]]
        last = begin
    return flat


def _steps(numbers: Sequence[int | None]) -> list[int | None]:
    """Return each number as the difference from the one before."""
    last, steps = 0, []
    for number in numbers:
        steps.append(None if number is None else number - last)
        last = last if number is None else number
    return steps
