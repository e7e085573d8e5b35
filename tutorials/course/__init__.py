"""The course: what its notebooks import, `from course import check, hint, predict, reveal, solution, source`.

`README.md` beside this file says how a chapter is written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from course import checker, library, predicting
from course.predicting import Outcome, Tried
from course.verdict import Verdict

__all__ = ["check", "hint", "predict", "progress", "reveal", "solution", "source"]

_verdicts: dict[str, Verdict] = {}
_hints_given: dict[str, int] = {}


def check(exercise: str, answer: Callable[..., Any]) -> Verdict:
    """Whether `answer` does what the exercise asks for: `check("1.2", trace)`."""
    verdict = checker.check(library.exercise(exercise), answer)
    if exercise not in _verdicts or not _verdicts[exercise]:
        _verdicts[exercise] = verdict
    return verdict


def hint(exercise: str) -> None:
    """Prints a hint for an exercise; each call one that says more."""
    hints = library.exercise(exercise).hints
    given = _hints_given[exercise] = min(_hints_given.get(exercise, 0) + 1, len(hints))
    print(f"Hint {given} of {len(hints)}: {hints[given - 1]}")


def solution(exercise: str) -> None:
    """Prints a solution of an exercise, to compare with yours."""
    print(library.exercise(exercise).solution, end="")


def predict(prediction: str, guess: Any) -> Outcome:
    """Compares a prediction with what happens: `predict("4.p1", "hit")`."""
    return predicting.settle(library.prediction(prediction), guess)


def reveal(prediction: str) -> Tried:
    """The reasons of a question that asks why, each with its experiment and whether that is true."""
    return predicting.tried(library.prediction(prediction))


def progress() -> None:
    """Prints the verdict on every exercise that was checked since the notebook was opened."""
    for exercise, verdict in sorted(_verdicts.items()):
        print(f"{exercise:5} {'right' if verdict else 'not yet'}  {library.exercise(exercise).title}")


def source(thing: Any, first: str = "", last: str = "") -> None:
    """Prints the source of a class or function as it is in the package; from the line with `first` to that with `last`.

    The notebooks show code of the package by this function only, so that what they show is what runs.
    """
    lines = inspect.getsource(thing).rstrip("\n").split("\n")
    start = next(i for i, line in enumerate(lines) if first in line)
    end = next(i for i, line in enumerate(lines) if i >= start and last in line) if last else len(lines) - 1
    print(inspect.cleandoc("\n" + "\n".join(lines[start : end + 1])))
