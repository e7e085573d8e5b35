"""What the course is made of, as values: exercises, the properties of their answers, and predictions.

A *program* is a Python text; its value is the value of its last expression. A property's cases are programs that use
the answer, so a counter-example can be run as it is shown, and what was expected is what the solution gives: no answer
is typed anywhere.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Answer = Callable[..., Any]


@dataclass(frozen=True)
class Property:
    """What an answer must do: on each case, the same as the solution.

    Args:
      says: the law in one sentence, as the learner reads it.
      cases: programs that call the answer by its name.
      examples: cases that the text of the exercise shows, with what the solution gives for them.
    """

    says: str
    cases: st.SearchStrategy[str]
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exercise:
    """One thing to write. The learner's text, the tests and the documentation derive from it.

    Args:
      id: chapter and number, `"3.2"`.
      title: what it is about, in a few words.
      objective: what the learner can do afterwards: "You can ...".
      needs: the terms that the task takes for granted; the course must have introduced each before, as `*term*`.
      out_of_scope: what the learner need not care about here.
      task: what to write, in Markdown.
      setup: the program that runs first; its names are there for the stub, the solution and the cases.
      entry: the name of the function (or class) to write.
      stub: the program that the learner starts with.
      solution: a right program.
      wrong: at least five plausible wrong programs, each with the message for whoever's answer behaves like it.
      hints: three, from a nudge to nearly the solution.
      properties: what a right answer does.
      after: what to take along, or to try next, once it is solved.
      clues: programs that call the answer and are not judged: where wrong answers do the same in all cases, these tell
        which one it is.
    """

    id: str
    title: str
    objective: str
    needs: tuple[str, ...]
    out_of_scope: str
    task: str
    setup: str
    entry: str
    stub: str
    solution: str
    wrong: tuple[tuple[str, str], ...]
    hints: tuple[str, str, str]
    properties: tuple[Property, ...]
    after: str
    clues: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prediction:
    """A question to answer before the cell below it is run. The answer is computed.

    Args:
      id: chapter and number, `"3.p2"`.
      question: in Markdown.
      setup: the program that runs first.
      program: its value is the answer; the cell below the question.
      reasons: for a question that asks why: each possible reason, with an experiment, a program that is true if and
        only if the reason holds. Exactly one is true. Empty for a question that asks what.
      because: the explanation, shown with the answer.
    """

    id: str
    question: str
    setup: str
    program: str
    because: str
    reasons: tuple[tuple[str, str], ...] = ()


def text(program: str) -> str:
    """A program written indented between triple quotes, as it stands in a file.

    >>> text('''
    ...     x = 1
    ...     x + 1
    ... ''')
    'x = 1\\nx + 1\\n'
    """
    return textwrap.dedent(program).strip("\n") + "\n"


def edit(program: str, *edits: tuple[str, str]) -> str:
    """The program with pieces of its text replaced: most wrong answers are a solution with one edit.

    Raises: ValueError for a piece that does not occur, so that a stale edit is found.

    >>> edit("x + 1", ("+", "-"))
    'x - 1'
    """
    for old, new in edits:
        if old not in program:
            raise ValueError(f"{old!r} does not occur in\n{program}")
        program = program.replace(old, new)
    return program
