"""The page: texts first, then the data and the script that link them.

What comes from users (names, source, file names) enters HTML through `escaped` and `as_json`, and nowhere else.
"""
from __future__ import annotations

import bisect
import functools
import html
import importlib.resources
import json
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tinytrace.inspection.explorer.facts import Facts
from tinytrace.inspection.explorer.marked_text import Pane
from tinytrace.inspection.explorer.passes import Change


class Equation(NamedTuple):
    """What the page tells of an equation; place: file and line, reason: why there is no C for it, time: measured."""

    text: str
    facts: Facts
    reason: str = ""
    place: str = ""
    time: str = ""


class Page(NamedTuple):
    """All that is on the page; inside: for each loop or call, the equations inside."""

    title: str
    panes: Sequence[Pane]
    equations: Sequence[Equation]
    inside: Mapping[int, Sequence[int]]
    changes: Sequence[Change]

    def to_html(self) -> str:
        """Return the page as one file that loads nothing."""
        return string.Template(fixed_part("page.html")).substitute(
            title=escaped(self.title), css=fixed_part("page.css"), js=fixed_part("page.js"), last=len(self.changes),
            traced="as traced", passes="".join(map(_pass, self.changes)), panes="".join(map(_pane, self.panes)),
            data=as_json(self._data()))

    def _data(self) -> dict[str, Any]:
        sets = _Numbered()
        avals, reasons = _Numbered(), _Numbered()
        touched: dict[int, list[int]] = {}
        for number, change in enumerate(self.changes):
            for k in change.touched:
                touched.setdefault(k, []).append(number)
        panes = {pane.key: {"parts": _parts(pane, sets), "numbers": _steps(pane.numbers)} for pane in self.panes}
        rows = [[e.text, avals[e.facts.avals], e.facts.nbytes, e.facts.operations or 0, e.facts.kernels,
                 reasons[e.reason] + 1 if e.reason else 0, touched.get(k, []), e.place, e.time]
                for k, e in enumerate(self.equations)]
        return {"equations": rows, "avals": [*avals], "reasons": [*reasons], "sets": [*sets], "panes": panes,
                "kernel": [self._kernel(ids) for ids in sets], "inside": dict(self.inside),
                "passes": [{"name": c.name, "summary": c.summary(), "touched": c.touched} for c in self.changes]}

    def _kernel(self, ids: Iterable[int]) -> int:
        """Return the number of the kernel that computes equations; -1 if none or several do."""
        found = {kernels for k in ids if (kernels := self.equations[k].facts.kernels)}
        return min(found)[0] if len(found) == 1 and len(min(found)) == 1 else -1


class _Numbered(dict[Any, int]):
    """Gives each key a number, in the order of asking."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]


@functools.cache
def fixed_part(name: str) -> str:
    """Return the text of a file of this package."""
    return importlib.resources.files(__package__).joinpath(name).read_text("utf-8")


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


def _pane(pane: Pane) -> str:
    heading = f'<h2 id="h-{pane.key}">{escaped(pane.title)} <span>{escaped(_size(pane))}</span></h2>'
    attributes = f'id="{pane.key}" tabindex="0" role="group" aria-labelledby="h-{pane.key}" data-title="{pane.title}"'
    return f"<section>\n{heading}\n<pre {attributes}>\n{escaped(pane.text)}</pre>\n</section>\n"


def _size(pane: Pane) -> str:
    lines = pane.text.count("\n") + 1
    return f"{lines} lines" if lines > 1 else ""


def _pass(change: Change) -> str:
    lines = "\n".join(_changed(line) for line in change.lines)
    shown = f"\n<pre>\n{lines}</pre>" if lines else ""
    return (f"<li><b>{escaped(change.name)}</b> ({change.language}): {escaped(change.summary())}. "
            f"<i>{escaped(change.meaning)}</i>{shown}\n")


def _changed(line: str) -> str:
    tag = {"-": "del", "+": "ins"}.get(line[:1])
    return f"<{tag}>{escaped(line)}</{tag}>" if tag else escaped(line)


def _parts(pane: Pane, sets: _Numbered) -> list[int]:
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
