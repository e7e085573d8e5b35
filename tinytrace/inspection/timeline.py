"""`%load_ext tinytrace`: under each cell of a notebook, whether its calls were hits, found on disk, or compiled.

    MISS   12.3 ms  2 traced, 1 compiled: f: x.shape: (3,) -> (4,)
    DISK    1.1 ms  1 traced, 1 from disk: g
    HIT     0.0 ms  100 calls

`%unload_ext tinytrace` ends it; `tinytrace.inspection.timeline.timeline` has all cells so far.
"""
from __future__ import annotations

from typing import Any

from tinytrace._dispatch import calls_counted
from tinytrace.api.cache_view import is_of_library
from tinytrace.api.why import explain_trace
from tinytrace.core.views.tables import html_table
from tinytrace.events import Event, listeners
from tinytrace.records import NamedTuple


class Cell(NamedTuple):
    """What happened in one cell; milliseconds are those of tracing, compiling and loading."""

    number: int
    verdict: str
    milliseconds: float
    text: str

    def __str__(self) -> str:
        return f"{self.verdict:4} {self.milliseconds:8.1f} ms  {self.text}"


class Timeline:
    """What happened in each cell so far; prints one line per cell in which something did."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self._begin()

    def _begin(self) -> None:
        self._counted = calls_counted()
        self._traces: list[tuple[str, str]] = []
        self._origins: list[str] = []
        self._seconds = 0.0

    def hear(self, event: Event) -> None:
        """Note an event of the cell that is run."""
        if event.kind == "load":
            self._origins.append(event.name)
            self._seconds += event.seconds
        elif event.kind == "trace" and not is_of_library(event.subject[0]._fun):
            why = explain_trace(*event.subject)
            self._traces.append((event.name, str(why.diff).replace("\n", "; ") if why.diff else why.reason))
            self._seconds += event.seconds

    def begin_cell(self, *_: Any) -> None:
        """Start counting."""
        self._begin()

    def end_cell(self, *_: Any) -> None:
        """Close a cell, and print its line if there was a call."""
        compiled, hits = self._origins.count("compiler"), calls_counted() - self._counted
        found = sum(origin in ("disk", "shared disk") for origin in self._origins)
        counts = [(len(self._traces), "traced"), (compiled, "compiled"), (found, "from disk"),
                  (hits, "calls" if hits > 1 else "call")]
        told = ", ".join(f"{count} {what}" for count, what in counts if count)
        if not told:
            return
        verdict = "MISS" if compiled or (self._traces and not found) else "DISK" if found else "HIT"
        reasons = "; ".join(dict.fromkeys(f"{name}: {reason}" for name, reason in self._traces))
        cell = Cell(len(self.cells) + 1, verdict, 1e3 * self._seconds, f"{told}{f': {reasons}' if reasons else ''}")
        self.cells.append(cell)
        print(cell)

    def __str__(self) -> str:
        return "\n".join(map(str, self.cells)) or "no cell called a jitted function"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(("cell", "", "ms", ""), [(cell.number, cell.verdict, f"{cell.milliseconds:.1f}", cell.text)
                                                    for cell in self.cells])


timeline = Timeline()


def load_ipython_extension(shell: Any) -> None:
    """Begin the timeline: what `%load_ext tinytrace` calls."""
    if timeline.hear not in listeners:
        listeners.append(timeline.hear)
        shell.events.register("pre_run_cell", timeline.begin_cell)
        shell.events.register("post_run_cell", timeline.end_cell)
        timeline.begin_cell()


def unload_ipython_extension(shell: Any) -> None:
    """End it: what `%unload_ext tinytrace` calls."""
    if timeline.hear in listeners:
        listeners.remove(timeline.hear)
        shell.events.unregister("pre_run_cell", timeline.begin_cell)
        shell.events.unregister("post_run_cell", timeline.end_cell)
