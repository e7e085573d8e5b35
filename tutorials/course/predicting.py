"""Predictions: the learner writes down an answer, then the right one is computed.

A question that asks *what* is answered by the value of its program. A question that asks *why* offers reasons, each
with an experiment, a program that is true if and only if the reason holds: change the one thing that the reason names,
and see.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.comparing import same
from course.exercise import Prediction
from course.running import namespace, observe
from course.verdict import markdown_line, shown

NONE_YET = "No prediction yet: write yours in place of the dots."
LETTERS = "abcdefgh"
LIMIT = 60.0
"""Seconds of processor time that a prediction's own program may take."""


@dataclass(frozen=True)
class Outcome:
    """What became of a prediction; `right` is None if none was made."""

    prediction: str
    right: bool | None
    message: str

    def __repr__(self) -> str:
        return f"Prediction {self.prediction}. {self.message}"

    def _repr_html_(self) -> str:
        colour = {True: "green", False: "crimson", None: "gray"}[self.right]
        head = html.escape(f"Prediction {self.prediction}.")
        return (
            f"<div style='border-left:4px solid {colour};padding-left:1em'><b>{head}</b> "
            f"{markdown_line(self.message)}</div>"
        )


@dataclass(frozen=True)
class Tried:
    """The reasons of a question that asks why, each with its experiment and how that ended."""

    rows: tuple[tuple[str, str, str, bool], ...]
    """Letter, reason, experiment, whether it holds."""

    def __repr__(self) -> str:
        blocks = []
        for letter, reason, experiment, holds in self.rows:
            code = "\n".join(f"       {line}" for line in experiment.strip().split("\n"))
            blocks.append(f"{'yes' if holds else ' no'}  {letter}) {reason}\n{code}")
        return "\n".join(blocks)


def settle(prediction: Prediction, guess: Any) -> Outcome:
    """Compares a guess with what the program of the prediction gives; for `...`, asks for one."""
    if guess is ...:
        return Outcome(prediction.id, None, NONE_YET)
    right = answer(prediction)
    if prediction.reasons:
        guess = str(guess).strip().lower().rstrip(")")
    if same(right, guess):
        return Outcome(prediction.id, True, f"Right. {prediction.because}")
    return Outcome(prediction.id, False, f"You said `{shown(guess)}`; it is `{shown(right)}`. {prediction.because}")


def answer(prediction: Prediction) -> Any:
    """The right answer: the value of the program, or the letter of the one reason whose experiment is true."""
    if not prediction.reasons:
        return observe(prediction.program, namespace(prediction.setup), LIMIT)
    holding = [letter for letter, _, _, holds in tried(prediction).rows if holds]
    if len(holding) != 1:
        raise ValueError(f"prediction {prediction.id}: one reason must hold, not {holding}")
    return holding[0]


def tried(prediction: Prediction) -> Tried:
    """Runs the experiment of every reason, each in names of its own, after the program."""
    rows = []
    for letter, (reason, experiment) in zip(LETTERS, prediction.reasons, strict=False):
        outcome = observe(prediction.program + "\n" + experiment, namespace(prediction.setup), LIMIT)
        if not isinstance(outcome, (bool, np.bool_)):
            raise ValueError(f"prediction {prediction.id}, {letter}: an experiment is true or false, not {outcome!r}")
        rows.append((letter, reason, experiment, bool(outcome)))
    return Tried(tuple(rows))
