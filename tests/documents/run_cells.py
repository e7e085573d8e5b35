"""Runs the cells of one document as a notebook would: `python -m tests.documents.run_cells jax|tinytrace < cells`.

Reads a JSON list of `[source, is compared]` from standard input and writes a JSON list of what each cell shows: what it
prints, the repr of its last expression, and `! Class: message` if it raises. Of a cell that is not compared every
statement is run that can be.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import linecache
import os
import re
import signal
import sys
import types
import warnings
from typing import Any

import numpy as np

SECONDS = 60  # for one cell


def main() -> None:
    """Runs the cells of standard input with the library named on the command line."""
    cells = json.load(sys.stdin)
    results = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever is written past sys.stdout
    if sys.argv[1] == "tinytrace":
        importlib.import_module("tinytrace.as_jax").install_as_jax()
    np.set_printoptions(legacy="1.25")  # the two environments may have different NumPys
    np.random.seed(0)
    warnings.simplefilter("ignore")
    notebook = sys.modules["__main__"] = types.ModuleType("__main__")
    signal.signal(signal.SIGALRM, too_long)
    shown = []
    for number, (source, is_compared) in enumerate(cells, 1):
        if is_compared:
            shown.append(run(source, number, vars(notebook)))
        else:
            shown.append("\n".join(run(statement, number, vars(notebook)) for statement in statements(source)))
    json.dump(shown, results)
    results.close()


def statements(source: str) -> list[str]:
    """The statements of a cell, or nothing if it is not Python."""
    try:
        return [ast.get_source_segment(source, node) or "" for node in ast.parse(source).body]
    except SyntaxError:
        return []


def run(source: str, number: int, namespace: dict[str, Any]) -> str:
    """What the cell shows."""
    out = io.StringIO()
    signal.alarm(SECONDS)
    with contextlib.redirect_stdout(out):
        try:
            value = execute(source, f"<cell {number}>", namespace)
            wait_for_callbacks()
            if value is not None:
                print(repr(value))
        except (Exception, SystemExit) as error:
            print(f"! {type(error).__name__}: {error}")
        finally:
            signal.alarm(0)
    return normalise(out.getvalue())


def execute(source: str, name: str, namespace: dict[str, Any]) -> Any:
    """Runs a cell; its value is that of its last expression, unless a semicolon follows it."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), namespace)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), namespace)
    return None if re.search(r";\s*(#.*)?\Z", source) else value


def wait_for_callbacks() -> None:
    """JAX prints from another thread; what a cell prints must be there when the cell ends."""
    jax = sys.modules.get("jax")
    if hasattr(jax, "effects_barrier"):
        jax.effects_barrier()


def too_long(*_: Any) -> None:
    """The handler of the alarm."""
    raise TimeoutError(f"the cell took more than {SECONDS} seconds")


def normalise(text: str) -> str:
    """The text without addresses, ids, the places of library files, and the modules in which classes are defined."""
    text = re.sub(r"<class '(?:jax|jaxlib|tinytrace)[\w.]*\.(\w+)'>", r"<class '\1'>", text)
    text = re.sub(r"0x[0-9a-f]+", "0x..", text)
    text = re.sub(r"\bid[= ]\d{6,}", "id ..", text)
    text = re.sub(r"[\w/.-]+/(site-packages|tinytrace)/\S+?:\d+", "(library)", text)
    stack = r"When the value was created, the final \d+ stack frames.*?\n-+\n.*?\n-+\n"
    text = re.sub(stack, "", text, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")


if __name__ == "__main__":
    main()
