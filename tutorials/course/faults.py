"""Planted faults: compilers with one mistake each, as data.

A fault is an edit of a right compiler's text. `load` runs the edited text as a module of its own, so the compiler
that the learner uses stays right. A property that is worth something accepts every right compiler and catches every
faulty one; `grade` says which of both it does.
"""

from __future__ import annotations

import functools
import pathlib
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from course.checker import SETTINGS
from course.exercise import edit
from course.running import observe, shown_as

FOLDER = pathlib.Path(__file__).parent
GRADED_CASES = 60
"""How many cases a learner's property sees of each compiler."""

Law = Callable[..., bool]


@dataclass(frozen=True)
class Fault:
    """A mistake that somebody could make.

    Args:
      id: a short name, `"sub-turned-around"`.
      stage: where it is: trace, print, evaluate, differentiate, batch, simplify, emit, cache.
      file: the compiler's file, beside this one.
      edits: what is replaced by what.
      symptom: what a user sees; what the learner is told once it is caught.
    """

    id: str
    stage: str
    file: str
    edits: tuple[tuple[str, str], ...]
    symptom: str


@functools.cache
def load(file: str, fault: Fault | None = None) -> types.ModuleType:
    """The compiler in `file` as a module, with a fault or without."""
    text = edit((FOLDER / file).read_text(), *(fault.edits if fault else ()))
    module = types.ModuleType(f"planted.{fault.id if fault else 'right'}.{pathlib.Path(file).stem}")
    sys.modules[module.__name__] = module  # where dataclasses look up the names of their annotations
    exec(compile(text, shown_as(module.__name__, text), "exec", dont_inherit=True), module.__dict__)
    return module


def grade(law: Law, compiler: Any, cases: st.SearchStrategy[str], **names: Any) -> str:
    """What a learner's property says of a compiler: "accepts", or "catches" if it is false or raises in some case.

    Args:
      law: `law(compiler, *inputs)`, true if it holds for these inputs.
      cases: texts of the inputs, such as `"lambda x: x * x, 2.0"`; `names` are the names in them.
    """

    def broken(case: str) -> bool:
        return observe(f"bool(law(compiler, {case}))", {"law": law, "compiler": compiler, **names}) is not True

    try:
        find(cases, broken, settings=settings(SETTINGS, max_examples=GRADED_CASES))
    except NoSuchExample:
        return "accepts"
    return "catches"


FAULTS: tuple[Fault, ...] = (
    Fault(
        "operand-order",
        "trace",
        "chapters/ch01_a_tracer_in_60_lines/tracer.py",
        (('__rsub__ = lambda x, y: x.tape.record("sub", y, x)', '__rsub__ = lambda x, y: x.tape.record("sub", x, y)'),),
        "`2.0 - x` is recorded as `x - 2.0`.",
    ),
    Fault(
        "one-tracer-for-all",
        "trace",
        "chapters/ch01_a_tracer_in_60_lines/tracer.py",
        (("[tape.new() for _ in range(n)]", "[tape.new()] * n"),),
        "All inputs of a function are recorded as one.",
    ),
    Fault(
        "branches-exchanged",
        "trace",
        "chapters/ch01_a_tracer_in_60_lines/tracer.py",
        (('record("where", condition, x, y)', 'record("where", condition, y, x)'),),
        "A traced choice takes the other branch.",
    ),
)
"""The table. `tests/course/test_faults.py` loads each of them and asks that it behaves otherwise than the original."""


def fault(id: str) -> Fault:
    """A fault by its id."""
    return next(fault for fault in FAULTS if fault.id == id)
