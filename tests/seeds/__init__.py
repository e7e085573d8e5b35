"""The four introductory texts, and the means to run the programs in them.

`texts/` holds them as they are. A test takes its program and what the program must print from the text, by line
numbers, so both are the text's own words; only `import jax` becomes `import tinytrace as jax`.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import pathlib
import re
import textwrap
from typing import Any

from tests.goldens import as_tinytrace

TEXTS = pathlib.Path(__file__).parent / "texts"
CELL_FILE = "<cell>"


def lines(seed: str, first: int, last: int) -> str:
    """Lines `first` to `last` of a text, counted from 1, without their common indentation."""
    text = (TEXTS / f"{seed}.txt").read_text().split("\n")
    return textwrap.dedent("\n".join(text[first - 1 : last])).strip("\n")


def commented_answers(program: str) -> str:
    """What a program prints according to its own comments, each a number on the line below a `print`."""
    return "\n".join(re.findall(r"^# (\d+)$", program, flags=re.MULTILINE))


def run(program: str, namespace: dict[str, Any]) -> str:
    """Runs a program as a notebook runs a cell, and answers what the reader sees.

    That is what is printed, then the repr of a last expression, or the error as `Class: message`. What stands behind
    `%timeit` runs once and shows nothing.
    """
    source = re.sub(r"^%timeit ", "_ = ", as_tinytrace(program), flags=re.MULTILINE)
    linecache.cache[CELL_FILE] = (len(source), None, source.splitlines(keepends=True), CELL_FILE)
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown):
            exec(compile(tree, CELL_FILE, "exec", dont_inherit=True), namespace)
            if last is not None:
                expression = ast.Expression(last.value)
                value = eval(compile(expression, CELL_FILE, "eval", dont_inherit=True), namespace)
                if value is not None:
                    print(repr(value))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=shown)
    return shown.getvalue().rstrip("\n")


def notebook(**names: Any) -> dict[str, Any]:
    """A namespace with what every text imports somewhere: jax, jnp, partial."""
    namespace: dict[str, Any] = {"__name__": "__main__", **names}
    run("import jax\nimport jax.numpy as jnp\nfrom functools import partial", namespace)
    return namespace
