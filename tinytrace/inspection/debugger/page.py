"""A recorded run as a page of HTML that steps through it: no Python, no server, no network.

The user's source and the program light up where the run is; the run itself is a text with every value, a line for each
equation, so that it can be read without the script too. A page has `STEPS` equations of the run at most, those around
the session's position.
"""
from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from tinytrace.codegen.source_map import written_at
from tinytrace.core.jaxpr import DropVar, JaxprEqn, Var
from tinytrace.core.printer import VarNames
from tinytrace.inspection.linked_texts.fixed import Numbered, as_json, escaped, fixed_part, marks, section
from tinytrace.inspection.linked_texts.marked_text import Pane
from tinytrace.inspection.linked_texts.program_pane import equations_in_order, program_pane
from tinytrace.inspection.linked_texts.python_pane import python_pane
from tinytrace.inspection.recording import Event, Frame, Recording, makes_nonfinite, summary
from tinytrace.records import dataclass
from tinytrace.util import lazy

STEPS = 2000
"""How many equations of a run one page has at most, those of each iteration of a loop counted."""


class NamedProgram:
    """The text of a program under the user's names.

    text, places: as `text_with_places` has them.
    """

    def __init__(self, text: str, places: list[tuple[int, int, JaxprEqn]], names: VarNames) -> None:
        self.text, self.places, self.names = text, places, names

    def line(self, eqn: JaxprEqn, results: Sequence[Any] | None = None) -> str:
        """Return an equation in one line, without its parameters, with the values that it computed if there are any."""
        left = " ".join(f"{self.names[v]}:{v.aval.str_short()}" for v in eqn.outvars)
        right = " ".join(self.names[atom] for atom in eqn.invars)
        known = "  # " + ", ".join(map(summary, results)) if results else ""
        return f"{left + ' = ' if left else ''}{eqn.primitive.name} {right}{known}"


@dataclass(eq=False)
class RunPage:
    """The page of a run; position: the number of the event that runs next, where the page opens."""

    recording: Recording
    program: NamedProgram
    position: int

    def to_html(self) -> str:
        """Return the page as one file that loads nothing."""
        js = fixed_part("linked_texts", "texts.js") + fixed_part("debugger", "page.js")
        css = fixed_part("linked_texts", "texts.css") + fixed_part("debugger", "page.css")
        return string.Template(fixed_part("debugger", "page.html")).substitute(
            title=escaped(self.title), css=css, js=js, extent=escaped(self.extent()), data=as_json(self._data()),
            panes="".join(map(section, self.panes)), first=len(self._open), last=len(self._events))

    @property
    def title(self) -> str:
        """The name of the program and the types of its arguments."""
        info = self.recording.program.jaxpr.debug_info
        types = ", ".join(aval.str_short() for aval in self.recording.program.in_avals)
        return f"{info.function.partition(' at ')[0] if info is not None else 'program'}({types})"

    def extent(self) -> str:
        """Return which equations of the run the page has."""
        count = len(self.recording.events)
        if count <= STEPS and self.recording.complete:
            return f"All {count} equations of the run."
        more = "" if self.recording.complete else " that were recorded, until the limit"
        return (f"The equations {self._window.start} to {self._window.stop - 1} of {count}{more}: show the session "
                "again at another place for others.")

    @lazy
    def panes(self) -> list[Pane]:
        """The three texts: Python, the program, and the run."""
        places = [written_at(k, eqn, "") for k, eqn in enumerate(self._equations)]
        lines = [f"{'  ' * e.frame.depth}{self.program.line(e.equation, e.results)}" for e in self._events]
        run = Pane("run", "Run", "\n".join([*lines, self._end()]), (), (*(e.number for e in self._events), None))
        return [python_pane(self._equations, places),
                program_pane("jaxpr", "Jaxpr", self.program.text, self.program.places, self._numbers), run]

    @lazy
    def _window(self) -> range:
        """The numbers of the events of the page: those around the position."""
        count = len(self.recording.events)
        first = max(0, min(self.position - STEPS // 2, count - STEPS))
        return range(first, min(count, first + STEPS))

    @lazy
    def _open(self) -> list[Event]:
        """The events before the page in whose bodies it begins, the outermost first."""
        if not self._window:
            return []
        found: list[Event] = []
        frame = self.recording.events[self._window.start].frame
        while frame.parent is not None:
            found.append(self.recording.events[frame.parent])
            frame = found[-1].frame
        return found[::-1]

    @lazy
    def _events(self) -> list[Event]:
        return [*self._open, *self.recording.events[self._window.start:self._window.stop]]

    @lazy
    def _equations(self) -> list[JaxprEqn]:
        """Those of the text in its order, then those that ran and are not in it."""
        return list({e.ids[0]: e for e in (*equations_in_order(self.recording.program.jaxpr),
                                           *(event.equation for event in self._events))}.values())

    @lazy
    def _numbers(self) -> dict[int, int]:
        return {eqn.ids[0]: k for k, eqn in enumerate(self._equations)}

    def _end(self) -> str:
        if self._window.stop < len(self.recording.events) or not self.recording.complete:
            return "... the run goes on, this page ends here"
        error = self.recording.error
        return "the end" if error is None else f"the end: {type(error).__name__}: {str(error).partition(chr(10))[0]}"

    # --- the data: events, frames and equations by their places in lists -----------------------------------------

    def _data(self) -> dict[str, Any]:
        sets, values = Numbered(), _Values()
        panes = marks(self.panes, sets)
        outermost = self.recording.outermost
        seen = {id(frame): frame for frame in (outermost, *(event.frame for event in self._events))}
        frames = {key: k for k, key in enumerate(seen)}  # the outermost is the first
        known = self._known_before(set(seen))
        events = [[self._numbers[e.equation.ids[0]], frames[id(e.frame)], self._place(e.last + 1),
                   int(makes_nonfinite(e)), None if e.results is None else [values[x] for x in e.results]]
                  for e in self._events]
        shown = [self._frame(frame, known.get(key, {}), values) for key, frame in seen.items()]
        return {"equations": [self._equation(eqn) for eqn in self._equations], "sets": [*sets], "panes": panes,
                "events": events, "frames": shown, "values": values.texts, "at": self._place(self.position)}

    def _place(self, number: int) -> int:
        """Return the place in the page's list of the event with this number, or of what comes next in it."""
        return len(self._open) + min(number, self._window.stop) - self._window.start

    def _equation(self, eqn: JaxprEqn) -> list[Any]:
        line = 0 if eqn.source is None else eqn.source.line
        return [eqn.primitive.name, line, [self._typed(v) for v in eqn.outvars],
                [self.program.names[x] for x in eqn.invars if isinstance(x, Var)]]

    def _frame(self, frame: Frame, known: dict[Var, Any], values: _Values) -> list[Any]:
        parent = -1 if frame.parent is None else next(k for k, e in enumerate(self._events) if e.number == frame.parent)
        rows = [[*self._typed(v), values[x]] for v, x in {**frame.inputs, **known}.items() if type(v) is not DropVar]
        return [parent, frame.iteration, rows]

    def _typed(self, v: Var) -> list[str]:
        return [self.program.names[v], v.aval.str_short()]

    def _known_before(self, frames: set[int]) -> dict[int, dict[Var, Any]]:
        """Return what the frames of the page had computed before it begins."""
        found: dict[int, dict[Var, Any]] = {}
        for event in self.recording.events[:self._window.start]:
            if id(event.frame) in frames and event.last < self._window.start and event.results is not None:
                found.setdefault(id(event.frame), {}).update(zip(event.equation.outvars, event.results, strict=True))
        return found


class _Values(dict[int, int]):
    """The texts of values, each once; by the identity of the value, which its recording keeps alive."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = Numbered()

    def __getitem__(self, value: Any) -> int:
        number = self.get(id(value))
        if number is None:
            number = self[id(value)] = self._numbers[summary(value)]
        return number

    @property
    def texts(self) -> list[str]:
        return [*self._numbers]
