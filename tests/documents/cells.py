"""The code cells of a document, and the rules that say which of them can be compared.

A document is Markdown whose cells are fenced as `{code-cell}`, as Jupyter's text notebooks are, or Markdown or
reStructuredText with `>>>` prompts, each prompt being a cell and SCENE the first.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys
from typing import NamedTuple

# A cell that matches is run, so that later cells find its names, but what it shows is not compared.
EXCLUDED = {
    "shell": r"^\s*!",
    "timing": r"^\s*%%?time|\btimeit\b|\btime\.(time|perf_counter|sleep)\b|cProfile",
    "plots": r"\bmatplotlib\b|\bplt\.|\bmpl\.|\bIPython\b",
    "devices": r"\b(pmap|pjit|xmap|shard_map|Mesh|make_mesh|sharding|\w+Sharding|PartitionSpec|TransferTo\w+)\b|"
               r"jax\.(local_)?devices\(|\bdevice_put\b|\.devices?\(\)|default_device|transfer_guard|multihost",
    "files": r"\bopen\(|\burl|download|profiler|compilation_cache|jax_compilation|\btempfile\b|os\.environ",
    "debugger": r"\bbreakpoint\(|\bpdb\b",
    "XLA": r"\bmlir\b|\b(hlo|HLO)\b|xla_client|compiler_ir|as_text\(|cost_analysis|jaxlib|jax\.export|\bexport\.|"
           r"\bjex\b",
    "internals": r"jax\._src\.(?!util|api\b|core)",
}

SCENE = """import jax
import jax.numpy as jnp
import numpy as np
from jax import jit, grad, vmap, random, lax
from functools import partial
"""  # what prompts in prose take for granted


class Cell(NamedTuple):
    """One cell: its number in its document from 1, its source, and why it is not compared, if so."""

    number: int
    source: str
    excluded: str


def read_cells(path: pathlib.Path) -> list[Cell]:
    """The cells of the document at `path`."""
    text = path.read_text()
    sources = fenced(text) if "{code-cell}" in text else [SCENE, *prompted(text)]
    return [Cell(number, source, exclusion(source)) for number, source in enumerate(sources, 1)]


def fenced(text: str) -> list[str]:
    """The contents of code-cell fences, without their options."""
    found = re.findall(r"^(`{3,})\{code-cell\}[^\n]*\n(.*?)^\1\s*$", text, flags=re.MULTILINE | re.DOTALL)
    return [without_options(body) for _, body in found]


def without_options(body: str) -> str:
    """A cell without the `:option: value` lines or the `---` block at its start."""
    body = re.sub(r"\A---\n.*?^---\n", "", body, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\A(:[\w-]+:.*\n)+", "", body).strip("\n") + "\n"


def prompted(text: str) -> list[str]:
    """What follows each `>>>` and its `...` lines."""
    found = re.findall(r"^( *)>>> (.*\n(?:\1\.\.\..*\n)*)", text, flags=re.MULTILINE)
    return [re.sub(r"^ *\.\.\. ?", "", lines, flags=re.MULTILINE) for _, lines in found]


def exclusion(source: str) -> str:
    """The name of the rule that excludes a cell, or nothing."""
    code = "\n".join(line for line in source.split("\n") if not line.lstrip().startswith("#"))
    for name, pattern in EXCLUDED.items():
        if re.search(pattern, code, flags=re.MULTILINE):
            return name
    return "other packages" if other_packages(source) else ""


def other_packages(source: str) -> set[str]:
    """The packages a cell imports that are neither jax, NumPy nor Python's own."""
    imported = re.findall(r"^\s*(?:import|from) +(\w+)", source, flags=re.MULTILINE)
    return set(imported) - set(sys.stdlib_module_names) - {"jax", "numpy"}


def names_bound(source: str) -> set[str]:
    """The names a cell binds at its top level."""
    try:
        tree = ast.parse(plain(source))
    except SyntaxError:
        return set()
    names = set()
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names.add(statement.name)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in statement.names}
        else:
            names |= {node.id for node in ast.walk(statement)
                      if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names


def runnable(cell: Cell) -> str:
    """What is run for a cell: its source as plain Python, or the end of its names if it would wait for input."""
    if cell.excluded == "debugger":
        return "\n".join(f"{name} = None; del {name}" for name in sorted(names_bound(cell.source)))
    return plain(cell.source)


def plain(source: str) -> str:
    """A cell as Python: the shell's lines dropped, the timed statements just run, other magics dropped."""
    source = re.sub(r"^\s*%%?time\w*( +-[nr] ?\d+)* *", "", source, flags=re.MULTILINE)
    return re.sub(r"^\s*[!%].*$", "", source, flags=re.MULTILINE)
