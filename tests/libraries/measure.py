"""How many programs of libraries that are written for JAX run here, and give JAX's numbers.

    pip install --no-deps --target FOLDER -r tests/libraries/requirements.txt
    python -m tests.libraries.measure FOLDER [--oracle PYTHON] [--write] [PROGRAM ...]

With `--oracle`, a Python with JAX 0.4.35 answers anew (`answers.json`). `--write` makes docs/libraries.md of the table;
the answer is 1 if a program differs for which REASONS has no reason.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
ANSWERS = HERE / "answers.json"
TABLE = ROOT / "docs" / "libraries.md"
REASONS = {
    "evosax__cma": "its matrix is nearly the identity at first: rounding decides about the eigenvectors",
}
HEAD = """# Libraries that are written for JAX, run here

Made by `python -m tests.libraries.measure`: programs as the documents of each library begin, run unchanged with
`import jax` meaning tinytrace (`tinytrace.install_as_jax()`), compared with the numbers of JAX 0.4.35 up to 0.2 %
(random numbers are the same, roundings are not). Versions are in `tests/libraries/requirements.txt`.

| library | programs | run | same numbers | otherwise |
|---------|---------:|----:|-------------:|-----------|
"""


def main() -> int:
    """Measures the programs that are named, or all, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--oracle", help="a Python with JAX 0.4.35, which answers anew")
    parser.add_argument("--write", action="store_true", help=f"write the table to {TABLE.relative_to(ROOT)}")
    arguments = parser.parse_intermixed_args()
    known = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    if arguments.oracle:
        known |= run(arguments.oracle, "jax", arguments.folder, arguments.programs)
        ANSWERS.write_text(json.dumps(known, indent=0) + "\n")
    ours = run(sys.executable, "tinytrace", arguments.folder, arguments.programs)
    text = report(known, ours)
    print(text)
    if arguments.write:
        TABLE.write_text(text)
    return any(not same(ours[name], known[name]) and name not in REASONS for name in ours)


def run(python: str, library: str, folder: pathlib.Path, programs: list[str]) -> dict[str, Any]:
    """What the programs answer with a library."""
    command = [python, "-m", "tests.libraries.run", library, str(folder), *programs]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return dict(json.loads(line) for line in done.stdout.splitlines())


def same(ours: Any, theirs: Any) -> bool:
    """Are two answers the same, numbers up to 0.2 %?"""
    if not isinstance(ours, list) or not isinstance(theirs, list):
        return bool(ours == theirs)
    return len(ours) == len(theirs) and all(map(same_leaf, ours, theirs))


def same_leaf(x: Any, y: Any) -> bool:
    """Are two leaves the same: texts, or numbers in lists of lists?"""
    if isinstance(x, str) or isinstance(y, str):
        return bool(x == y)
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    return a.shape == b.shape and np.allclose(a, b, rtol=2e-3, atol=2e-4, equal_nan=True)


def report(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    """The table as Markdown."""
    rows = []
    libraries = list(dict.fromkeys(name.partition("__")[0] for name in ours))
    for library in [*libraries, ""]:
        names = [name for name in ours if name.startswith(library)]
        run_here = [name for name in names if isinstance(ours[name], list)]
        alike = [name for name in names if same(ours[name], theirs[name])]
        others = "; ".join(f"`{name}`: {REASONS.get(name) or ours[name] if name not in run_here else REASONS.get(name)}"
                           for name in names if name not in alike)
        rows.append(f"| {library or '**all**'} | {len(names)} | {len(run_here)} | {len(alike)} | "
                    f"{others if library else ''} |")
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main())
