"""The page: texts first, then the data and the script that link them."""
from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tinytrace.inspection.explorer.facts import Facts
from tinytrace.inspection.explorer.passes import Change
from tinytrace.inspection.linked_texts.fixed import Numbered, as_json, escaped, fixed_part, marks, section
from tinytrace.inspection.linked_texts.marked_text import Pane
from tinytrace.records import NamedTuple


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
        js = fixed_part("linked_texts", "texts.js") + fixed_part("explorer", "page.js")
        css = fixed_part("linked_texts", "texts.css") + fixed_part("explorer", "page.css")
        return string.Template(fixed_part("explorer", "page.html")).substitute(
            title=escaped(self.title), css=css, js=js, last=len(self.changes), traced="as traced",
            passes="".join(map(_pass, self.changes)), panes="".join(map(section, self.panes)),
            data=as_json(self._data()))

    def _data(self) -> dict[str, Any]:
        sets, avals, reasons = Numbered(), Numbered(), Numbered()
        touched: dict[int, list[int]] = {}
        for number, change in enumerate(self.changes):
            for k in change.touched:
                touched.setdefault(k, []).append(number)
        panes = marks(self.panes, sets)
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


def _pass(change: Change) -> str:
    lines = "\n".join(_changed(line) for line in change.lines)
    shown = f"\n<pre>\n{lines}</pre>" if lines else ""
    return (f"<li><b>{escaped(change.name)}</b> ({change.language}): {escaped(change.summary())}. "
            f"<i>{escaped(change.meaning)}</i>{shown}\n")


def _changed(line: str) -> str:
    tag = {"-": "del", "+": "ins"}.get(line[:1])
    return f"<{tag}>{escaped(line)}</{tag}>" if tag else escaped(line)
