"""A debugger for equations: step, look at every variable under its own name, go back, change a value and go on.

    session = debugger(f)(x)         a Session at the first equation
    session.step(); session.until(primitive="exp"); session.back(); session["y"]; session["y"] = 0.0
    session                          in a notebook: a page that steps through the run, without Python

A session walks through a recording of the whole run (see `recording`), so that going back costs nothing. A changed
value makes a new recording, in which everything behind it follows from it.
"""
from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Callable
from typing import Any

from tinytrace.core.jaxpr import ClosedJaxpr, Var
from tinytrace.core.printer import named_text_with_places
from tinytrace.inspection.debugger.page import NamedProgram, RunPage
from tinytrace.inspection.linked_texts.fixed import framed
from tinytrace.inspection.prefixes import program_with_arguments
from tinytrace.inspection.recording import LARGEST, Event, as_array, makes_nonfinite, record

HEIGHT = 620
"""Pixels of the page in a notebook's cell."""


class Session:
    """A place in a recording, and the ways to move from it. `position` is the number of the event that runs next."""

    def __init__(self, program: ClosedJaxpr, args: list[Any], limit: int = 100_000) -> None:
        self.program = program
        self.args = args
        self.limit = limit
        self.changes: dict[tuple[int, Var], Any] = {}
        self.recording = record(program, args, self.changes, limit)
        self.position = 0
        self._named = NamedProgram(*named_text_with_places(program))
        self._names = self._named.names

    # --- where we are ---

    @property
    def event(self) -> Event | None:
        """The equation that runs next; None at the end."""
        events = self.recording.events
        return events[self.position] if self.position < len(events) else None

    @property
    def values(self) -> dict[str, Any]:
        """The variables of the program that is being run, by name, as far as they are known."""
        return {self._names[v]: x for v, x in self.recording.values_at(self.position).items()}

    @property
    def results(self) -> list[Any]:
        """What the program returned.

        Raises: the error that the run ended with, if it did; RuntimeError where the recording was too long.
        """
        if self.recording.error is not None:
            raise self.recording.error
        if self.recording.results is None:
            raise RuntimeError(f"the run was followed for {len(self.recording.events)} equations only, at most "
                               f"{self.limit} and {LARGEST} bytes of values: give the debugger a larger limit, or less "
                               "to compute")
        return self.recording.results

    def __getitem__(self, name: str) -> Any:
        return self.values[self._full_name(name)]

    def _full_name(self, name: str) -> str:
        """Return the name of a variable that has a value here; `y` may stand for `y_3`, if that is the only one."""
        values = self.values
        numbered = [full for full in values if re.fullmatch(rf"{re.escape(name)}_\d+", full)]
        if name not in values and len(numbered) != 1:
            raise KeyError(f"no variable {name!r} has a value here; there are: {', '.join(values)}")
        return name if name in values else numbered[0]

    def __str__(self) -> str:
        return "\n".join([*self.where(), *self.listing()])

    def __repr__(self) -> str:
        return f"<debugger at equation {self.position} of {len(self.recording.events)}>\n{self}"

    def _repr_html_(self) -> str:
        page = self.page
        return framed(page.to_html(), page.title, HEIGHT)

    @property
    def page(self) -> RunPage:
        """The run as a page that steps through it, and opens at this place."""
        return RunPage(self.recording, self._named, self.position)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which needs neither network nor Python."""
        pathlib.Path(path).write_text(self.page.to_html(), "utf-8")

    def where(self) -> list[str]:
        """Return the equations that we are inside of, the outermost first, and the user's line."""
        event = self.event
        if event is None:
            error = self.recording.error
            return ["the end" if error is None else f"the end: {type(error).__name__}: {error}"]
        lines = [f"line {event.equation.source}" if event.equation.source is not None else "line unknown"]
        frame = event.frame
        while frame.parent is not None:
            parent = self.recording.events[frame.parent]
            lines.append(f"in {parent.equation.primitive.name}, run {frame.iteration}")
            frame = parent.frame
        return lines[::-1]

    def listing(self, around: int = 3) -> list[str]:
        """Return the equations around the next one, which is marked, with the values that are known."""
        event = self.event
        if event is None:
            return []
        values = self.recording.values_at(self.position)
        lines = []
        for i, eqn in enumerate(event.frame.jaxpr.eqns):
            if abs(i - event.index) <= around:
                results = [values[v] for v in eqn.outvars] if all(v in values for v in eqn.outvars) else None
                lines.append(f"{'->' if i == event.index else '  '} {self._named.line(eqn, results)}")
        return lines

    # --- moves ---

    def step(self) -> Session:
        """Go to the next equation, into the first one of a body where there is one."""
        self.position = min(self.position + 1, len(self.recording.events))
        return self

    def next(self) -> Session:
        """Go to the next equation of this program, over the bodies of this one."""
        event = self.event
        if event is not None:
            self.position = event.last + 1
        return self

    def out(self) -> Session:
        """Go to the equation behind the one whose body we are in."""
        event = self.event
        parent = event.frame.parent if event is not None else None
        self.position = len(self.recording.events) if parent is None else self.recording.events[parent].last + 1
        return self

    def back(self, count: int = 1) -> Session:
        """Go back by `count` equations."""
        self.position = max(0, self.position - count)
        return self

    def to(self, number: int) -> Session:
        """Go to the equation that runs as number `number`."""
        self.position = min(max(0, number), len(self.recording.events))
        return self

    def until(self, *, line: int | None = None, primitive: str | None = None, nan: bool = False,
              condition: Callable[[dict[str, Any]], bool] | None = None) -> Session:
        """Go to the next equation, behind this one, for which one of these holds; to the end if there is none.

        Args:
          line: it was written in this line.
          primitive: it has this name.
          nan: it computes a NaN or an infinity from numbers that are none.
          condition: a function of the variables, by name; those that it asks for must have values.
        """
        def stops(event: Event) -> bool:
            return self._stops(event, line, primitive, nan, condition)

        found = self.recording.find(stops, self.position + 1)
        self.position = len(self.recording.events) if found is None else found
        return self

    def _stops(self, event: Event, line: int | None, primitive: str | None, nan: bool,
               condition: Callable[[dict[str, Any]], bool] | None) -> bool:
        source = event.equation.source
        if line is not None and source is not None and source.line == line:
            return True
        if primitive is not None and event.equation.primitive.name == primitive:
            return True
        if nan and makes_nonfinite(event):
            return True
        if condition is None:
            return False
        values = {self._names[v]: x for v, x in self.recording.values_at(event.number).items()}
        try:
            return bool(condition(values))
        except KeyError:
            return False

    # --- changes ---

    def __setitem__(self, name: str, value: Any) -> None:
        """Give a variable another value, and run everything behind it again."""
        var, number = self._origin(name)
        new = as_array(value, var.aval)
        if number is None:
            binders = self.program.jaxpr.invars
            self.args = [new if v is var else x for v, x in zip(binders, self.args, strict=True)]
        else:
            self.changes[number, var] = new
        self.recording = record(self.program, self.args, self.changes, self.limit)
        self.position = min(self.position, len(self.recording.events))

    def _origin(self, name: str) -> tuple[Var, int | None]:
        """Return the variable that `name` is here, and the number of the event that computed it (None: an argument)."""
        name = self._full_name(name)
        known = self.recording.values_at(self.position)
        var = next(v for v in known if self._names[v] == name)
        event = self.event
        frame = event.frame if event is not None else self.recording.outermost
        for earlier in reversed(self.recording.events[:self.position]):
            if earlier.frame is frame and var in earlier.equation.outvars:
                return var, earlier.number
        if frame.parent is not None or var in frame.jaxpr.constvars:
            raise ValueError(f"{name} comes into this program from outside: change it where it is computed "
                             "(`out`, then `back`)")
        return var, None


def debugger(fun: Callable[..., Any], limit: int = 100_000) -> Callable[..., Session]:
    """Return a function that runs `fun` un-jitted, equation by equation, and returns a `Session` at the first one.

    Args: limit: how many equations are recorded at most, those of each iteration of a loop counted.

    >>> import tinytrace as jax, tinytrace.numpy as jnp
    >>> def f(x):
    ...     y = jnp.exp(x)
    ...     return y - jnp.inf * 0
    >>> session = debugger(f)(1.0)
    >>> session.step()["y"]
    Array(2.7182817, dtype=float32, weak_type=True)
    """
    def start(*args: Any, **kwargs: Any) -> Session:
        program, leaves = program_with_arguments(fun, args, kwargs)
        return Session(program, [as_array(x, v.aval) for x, v in zip(leaves, program.jaxpr.invars, strict=True)], limit)
    return start
