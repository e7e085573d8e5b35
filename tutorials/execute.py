"""Executes the notebooks: `python tutorials/execute.py [--write] [notebook ...]`.

Fails if a cell raises, or if it shows something else than the notebook says; cells tagged `varies` (times, paths)
may differ. With --write the fresh outputs are stored instead of compared.
"""

from __future__ import annotations

import argparse
import difflib
import os
import pathlib
import sys

import nbformat
from nbclient import NotebookClient

FOLDER = pathlib.Path(__file__).parent


def execute(path: pathlib.Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a fresh run; raises CellExecutionError if a cell does."""
    notebook = nbformat.read(path, as_version=4)
    here = {**os.environ, "PYTHONPATH": str(FOLDER.parent)}  # the tinytrace beside the tutorials, installed or not
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(path.parent), env=here)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def shown(cell: nbformat.NotebookNode) -> str:
    """The text that a cell shows below itself."""
    texts = []
    for output in cell.get("outputs", []):
        printed = output.get("text")  # what is printed arrives in pieces that may end anywhere
        texts.append(printed if printed is not None else output.get("data", {}).get("text/plain", "") + "\n")
    return "".join(texts)


def differences(path: pathlib.Path) -> list[str]:
    """Where a fresh run shows something else than the notebook says."""
    stored, fresh = nbformat.read(path, as_version=4), execute(path)
    lines: list[str] = []
    for before, after in zip(stored.cells, fresh.cells, strict=True):
        if before.cell_type == "code" and "varies" not in before.metadata.get("tags", []):
            lines += difflib.unified_diff(
                shown(before).splitlines(), shown(after).splitlines(), before.source, "a fresh run", lineterm=""
            )
    return lines


def main() -> int:
    """Executes the notebooks that are named, or all; answers how many differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="store the fresh outputs")
    parser.add_argument("notebooks", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    wrong = 0
    for path in arguments.notebooks or sorted(FOLDER.glob("*.ipynb")):
        print(f"{path.name} ...", flush=True)
        if arguments.write:
            nbformat.write(execute(path), path)
        elif lines := differences(path):
            wrong += 1
            print(*lines, "`python tutorials/execute.py --write` stores what a fresh run shows.", sep="\n")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
