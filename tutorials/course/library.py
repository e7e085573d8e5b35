"""Finds chapters, exercises and predictions: every folder `chapters/chNN_...` beside this file is a chapter.

Its `exercises.py` has EXERCISES, its `predictions.py` PREDICTIONS; `text.md` is the master text of the notebook.
"""

from __future__ import annotations

import functools
import importlib
import pathlib
from dataclasses import dataclass
from typing import TypeVar

from course.exercise import Exercise, Prediction

T = TypeVar("T", Exercise, Prediction)

FOLDER = pathlib.Path(__file__).parent / "chapters"


@dataclass(frozen=True)
class Chapter:
    """A chapter: its number, its folder, and what stands in it."""

    number: int
    folder: pathlib.Path
    exercises: tuple[Exercise, ...]
    predictions: tuple[Prediction, ...]

    @property
    def text(self) -> str:
        """The master text."""
        return (self.folder / "text.md").read_text()

    @property
    def notebook(self) -> pathlib.Path:
        """The notebook made of it."""
        return FOLDER.parents[1] / f"{self.folder.name.removeprefix('ch')}.ipynb"


@functools.cache
def chapters() -> tuple[Chapter, ...]:
    """Every chapter that is written, in order."""
    return tuple(chapter(int(folder.name[2:4])) for folder in sorted(FOLDER.glob("ch[0-9][0-9]_*")))


@functools.cache
def chapter(number: int) -> Chapter:
    """A chapter by its number.

    Raises: LookupError if there is none.
    """
    for folder in FOLDER.glob(f"ch{number:02}_*"):
        exercises = importlib.import_module(f"course.chapters.{folder.name}.exercises").EXERCISES
        predictions = importlib.import_module(f"course.chapters.{folder.name}.predictions").PREDICTIONS
        return Chapter(number, folder, tuple(exercises), tuple(predictions))
    raise LookupError(f"there is no chapter {number}")


def exercise(id: str) -> Exercise:
    """An exercise by its id.

    Raises: LookupError if there is none, with the ids that there are.
    """
    return _named(id, chapter(_number(id)).exercises)


def prediction(id: str) -> Prediction:
    """A prediction by its id.

    Raises: LookupError if there is none, with the ids that there are.
    """
    return _named(id, chapter(_number(id)).predictions)


def _named(id: str, things: tuple[T, ...]) -> T:
    for thing in things:
        if thing.id == id:
            return thing
    raise LookupError(f"there is no {id!r}; there are {', '.join(thing.id for thing in things)}")


def _number(id: str) -> int:
    try:
        return int(id.split(".")[0])
    except (AttributeError, ValueError):
        raise LookupError(f"an id is a text such as '1.2' or '1.p2', not {id!r}") from None
