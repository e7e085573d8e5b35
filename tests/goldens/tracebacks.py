"""What is shown of a program that raises: by the library of the oracle, and by ours."""
from __future__ import annotations

import functools
import linecache
import traceback
from typing import Any, NamedTuple

import numpy as np

FILE = "mistake.py"


class Shown(NamedTuple):
    """The error, and the frames of its traceback that Python prints, of causes too; files: their names."""

    error: str
    message: str
    frames: int
    notes: list[str]
    text: str


def shown(program: str, jax: Any, jnp: Any) -> Shown:
    """Run a program that must raise."""
    linecache.cache[FILE] = (len(program), None, program.splitlines(keepends=True), FILE)
    names = {"jax": jax, "jnp": jnp, "np": np, "partial": functools.partial, "__name__": "__main__"}
    try:
        exec(compile(program, FILE, "exec", dont_inherit=True), names)
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        frames = text.count('  File "') - text.count(f'  File "{__file__}"')
        notes = list(getattr(error, "__notes__", ()))
        return Shown(type(error).__name__, str(error), frames, notes, text)
    raise AssertionError(f"this program raises nothing:\n{program}")
