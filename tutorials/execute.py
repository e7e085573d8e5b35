"""Executes the notebooks: `python tutorials/execute.py [--write] [notebook ...]`.

Fails if a cell raises, or if it shows something else than the notebook says; cells tagged `varies` (times, paths)
may differ. A notebook that has a master text (`course/chapters/*/text.md`) must also be what the text makes of it.
With --without one thing that a machine may lack is taken away, and the outputs must be the same: `compiler` (programs
are interpreted), `extensions` (no C at all: tinytrace.pure). Without names, these are the chapters that need neither, 0
to 5.
With --write it is made anew from its text, and the fresh outputs are stored instead of compared.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import os
import pathlib
import re
import sys
from concurrent.futures import ProcessPoolExecutor

import nbformat
from nbclient import NotebookClient

from course.library import chapters
from course.notebooks import notebook

FOLDER = pathlib.Path(__file__).parent
LACKING = {
    "nothing": {},
    "compiler": {"CC": "no-compiler-here", "PYTHONWARNINGS": "ignore"},
    "extensions": {"TINYTRACE_PURE": "1"},
}
"""What the environment says where something is lacking."""
PLACES = re.compile(r"(?<![^\s\"])[^\s\"]*/ipykernel_\d+/\d+\.py")
"""The files that cells are compiled from, which are called otherwise in each run. A place is looked for where a word
begins: a picture is one word of a million letters, and to begin at each of them took longer than all notebooks."""


def source(path: pathlib.Path) -> nbformat.NotebookNode:
    """The notebook's cells: of its master text if it has one, else as they are stored."""
    made = [notebook(chapter) for chapter in chapters() if chapter.notebook == path.resolve()]
    return made[0] if made else nbformat.read(path, as_version=4)


def execute(path: pathlib.Path, lacking: str = "nothing") -> nbformat.NotebookNode:
    """The notebook with the outputs of a fresh run; raises CellExecutionError if a cell does."""
    fresh = source(path)
    here = {**os.environ, **LACKING[lacking]}
    here["PYTHONPATH"] = str(FOLDER.parent)  # the tinytrace beside the tutorials, installed or not
    NotebookClient(fresh, timeout=300, kernel_name="python3").execute(cwd=str(path.parent), env=here)
    for cell in fresh.cells:
        cell.metadata.pop("execution", None)
    without_places: nbformat.NotebookNode = nbformat.reads(PLACES.sub("cell", nbformat.writes(fresh)), as_version=4)
    return without_places


def shown(cell: nbformat.NotebookNode) -> str:
    """The text that a cell shows below itself."""
    texts = []
    for output in cell.get("outputs", []):
        printed = output.get("text")  # what is printed arrives in pieces that may end anywhere
        texts.append(printed if printed is not None else output.get("data", {}).get("text/plain", "") + "\n")
    return "".join(texts)


def differences(path: pathlib.Path, lacking: str = "nothing") -> list[str]:
    """Where a fresh run shows something else than the notebook says."""
    stored, fresh = nbformat.read(path, as_version=4), execute(path, lacking)
    if [cell.source for cell in stored.cells] != [cell.source for cell in fresh.cells]:
        return ["The notebook is not what its master text makes."]
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
    parser.add_argument("--without", choices=[*LACKING][1:], default="nothing", help="take something away")
    parser.add_argument("notebooks", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    known = {*FOLDER.glob("*.ipynb"), *(chapter.notebook for chapter in chapters())}
    if arguments.without != "nothing":
        known = {path for path in known if path.name < "06"}
        print(f"without {arguments.without}:")
    paths = arguments.notebooks or sorted(known)
    one = functools.partial(outcome, write=arguments.write, lacking=arguments.without)
    wrong = 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:  # a notebook uses one core, most of the time
        for path, lines in zip(paths, pool.map(one, paths), strict=True):
            print(path.name, *lines, sep="\n", flush=True)
            wrong += bool(lines)
    return wrong


def outcome(path: pathlib.Path, write: bool, lacking: str) -> list[str]:
    """Executes one notebook; answers what differs and what to do about it, nothing if its outputs are stored."""
    if write:
        nbformat.write(execute(path), path)
        return []
    lines = differences(path, lacking)
    return [*lines, "`python tutorials/execute.py --write` stores what a fresh run shows."] if lines else []


if __name__ == "__main__":
    sys.exit(main())
