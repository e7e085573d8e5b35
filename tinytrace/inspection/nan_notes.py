"""What is added to the error of `debug_nans`: the equation that made the NaN, where it was written, and its operands.

What the error's function computes is run once more, equation by equation and into the bodies of loops and branches.
"""
from __future__ import annotations

import os

from tinytrace.config import override
from tinytrace.core.jaxpr import Var
from tinytrace.core.printer import named_text_with_places
from tinytrace.inspection.debugger.page import NamedProgram
from tinytrace.inspection.recording import Event, Recording, as_array, has_nonfinite, record, summary

LIMIT = 20_000
"""Equations that are looked at."""


def notes_of_nan(error: BaseException) -> list[str]:
    """Return the note of an error that `debug_nans` raised, if the equation is found."""
    computation = vars(error).get("computation") if type(error) is FloatingPointError else None
    if computation is None:
        return []
    closed, args = computation
    arrays = [as_array(x, aval) for x, aval in zip(args, closed.in_avals, strict=True)]
    with override("debug_nans", False), override("debug_infs", False):
        recording = record(closed, arrays, limit=LIMIT)
    event = _culprit(recording, infinities="invalid value (inf)" in str(error))
    return [_note(recording, event)] if event is not None else []


def _culprit(recording: Recording, infinities: bool) -> Event | None:
    """Return the first equation that makes a NaN (or infinity) of operands without any; in a loop, the one there."""
    return next((event for event in recording.events if event.last == event.number
                 and has_nonfinite(event.results or (), infinities=infinities)
                 and not has_nonfinite(event.inputs, infinities=infinities)), None)


def _note(recording: Recording, event: Event) -> str:
    program = NamedProgram(*named_text_with_places(recording.program))
    eqn = event.equation
    where = f" ({os.path.basename(eqn.source.file)}:{eqn.source.line}, {eqn.source.function})" if eqn.source else ""
    around, frame = [], event.frame
    while frame.parent is not None:
        parent = recording.events[frame.parent]
        around.append(f", in {parent.equation.primitive.name}, run {frame.iteration}")
        frame = parent.frame
    values = ", ".join(dict.fromkeys(f"{program.names[x]} = {summary(value)}" for x, value in
                                     zip(eqn.invars, event.inputs, strict=True) if isinstance(x, Var)))
    told = f"The equation is `{program.line(eqn)}`{where}{''.join(around)}{f', with {values}' if values else ''}"
    return told if told.endswith(".") else f"{told}."
