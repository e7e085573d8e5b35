"""Expected texts as data: each `.txt` file here holds programs and what JAX 0.4.35 answers to them.

A file is Python that sets the scene, then programs and answers:

    >>> tree_structure((1, [2, None]))
    PyTreeDef((*, [*, None]))

A program is an expression (continued with `...`) or statements of which the last is one. The answer is its repr (a
string stands for itself), or `! Class: message`. `regenerate.py`, run where JAX 0.4.35 is installed, writes the
answers; the tests run the same programs with tinytrace in the place of jax and never need JAX.
"""

from __future__ import annotations

import ast
import math
import pathlib
import re
import sys
import types
from typing import Any, NamedTuple

import numpy as np

HERE = pathlib.Path(__file__).parent
OURS = {r"jax\._src\.tree_util": "tinytrace.core.tree_paths"}


class Case(NamedTuple):
    """One program and the answer on file."""

    program: str
    answer: str


def names() -> list[str]:
    """The golden files: those `.txt` files that have a prompt. Others are lists of programs that a script reads."""
    return sorted(path.stem for path in HERE.glob("*.txt") if re.search("^>>> ", path.read_text(), re.MULTILINE))


def load(name: str) -> tuple[str, list[Case]]:
    """The scene and the cases of `<name>.txt`."""
    scene, *chunks = re.split(r"^>>> ", (HERE / f"{name}.txt").read_text(), flags=re.MULTILINE)
    return scene, [parse_case(chunk) for chunk in chunks]


def parse_case(chunk: str) -> Case:
    """Splits what follows a prompt into the program and its answer."""
    first, *lines = chunk.rstrip("\n").split("\n")
    program = [first]
    while lines and lines[0].startswith("... "):
        program.append(lines.pop(0)[4:])
    return Case("\n".join(program), "\n".join(lines))


def save(name: str, scene: str, cases: list[Case]) -> None:
    """Writes `<name>.txt`."""
    chunks = [">>> " + case.program.replace("\n", "\n... ") + f"\n{case.answer}\n\n" for case in cases]
    (HERE / f"{name}.txt").write_text(scene + "".join(chunks).rstrip("\n") + "\n")


def as_tinytrace(source: str) -> str:
    """The same program with its imports of jax turned into imports of tinytrace."""
    for theirs, ours in OURS.items():
        source = re.sub(rf"^(\s*)from {theirs} ", rf"\1from {ours} ", source, flags=re.MULTILINE)
    source = re.sub(r"^(\s*)import jax$", r"\1import tinytrace as jax", source, flags=re.MULTILINE)
    return re.sub(r"^(\s*)(import|from) jax\b", r"\1\2 tinytrace", source, flags=re.MULTILINE)


def set_scene(scene: str) -> dict[str, Any]:
    """A namespace in which the scene has been run. How it wants numbers printed is so for its own answers alone."""
    module = sys.modules["golden"] = types.ModuleType("golden")  # classes of a scene can be pickled
    usual = np.get_printoptions()
    with np.printoptions():
        exec(compile(scene, "<golden>", "exec", dont_inherit=True), vars(module))
        wanted = np.get_printoptions()
    vars(module)[PRINT_OPTIONS] = {key: value for key, value in wanted.items() if value != usual[key]}
    return vars(module)


PRINT_OPTIONS = "__printoptions__"


def answer(program: str, namespace: dict[str, Any]) -> str:
    """What the program answers: text, or `! Class: message` for an exception."""
    tree = ast.parse(program)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), f"the last statement of a golden program must be an expression: {program}"
    with np.printoptions(**namespace.get(PRINT_OPTIONS, {})):
        try:
            exec(compile(tree, "<golden>", "exec", dont_inherit=True), namespace)
            value = eval(compile(ast.Expression(last.value), "<golden>", "eval", dont_inherit=True), namespace)
            text = value if isinstance(value, str) else repr(value)
        except Exception as error:
            text = f"! {type(error).__name__}: {error}"
    return normalise(text)


NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")


def differences(text: str, expected: str, tolerance: float) -> list[str]:
    """Where two answers differ, numbers with a decimal point taken for the same up to a relative `tolerance`."""
    if NUMBER.sub("#", text) != NUMBER.sub("#", expected):
        return [f"{text}\n\nis not\n\n{expected}"]
    pairs = zip(NUMBER.findall(text), NUMBER.findall(expected), strict=True)
    return [f"{x} is not {y}" for x, y in pairs if not math.isclose(float(x), float(y), rel_tol=tolerance)]


def normalise(text: str) -> str:
    """The text without what differs between two runs or two machines.

    These are addresses, ids, files that are not the golden, and the order of a set of types (by their addresses).
    """
    text = re.sub(r"0x[0-9a-f]+", "0x..", text)
    text = re.sub(r"object id \d+", "object id ..", text)
    text = re.sub(r" at /\S+:\d+", " at (library)", text)
    for names in (r"(?<= are subtypes of )\w+(, \w+)+", r"(?<=Input dtypes \()[^)]*(?=\) have no)"):
        text = re.sub(names, lambda found: ", ".join(sorted(found[0].split(", "))), text)
    # Of a leaked value we keep the line that made it, not the stack (docs/differences.md).
    frames = r"When the value was created, the final \d+ stack frames.*?\n-+\n.*?\n-+\n"
    text = re.sub(frames, "", text, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")
