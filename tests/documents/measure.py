"""How much of JAX's documents runs here with the same output.

    python -m tests.documents.measure FOLDER --oracle PYTHON

FOLDER is `docs` of JAX's repository at the tag jax-v0.4.35 and PYTHON an interpreter that has JAX 0.4.35. Every cell
of DOCUMENTS is run with both libraries and what they show is compared: printed text, the value's repr, the error's
class and message. `--write` puts the table into docs/documents.md; `--show` prints the cells that differ. Answers 1 if
a cell differs for which `reasons.json` has no reason.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

from tests.documents.cells import Cell, read_cells, runnable

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
TABLE = ROOT / "docs" / "documents.md"
DOCUMENTS = re.findall(r"\S+", """
quickstart.md key-concepts.md jit-compilation.md automatic-vectorization.md automatic-differentiation.md debugging.md
random-numbers.md working-with-pytrees.md stateful-computations.md advanced-autodiff.md external-callbacks.md
gradient-checkpointing.md jaxpr.md pytrees.md aot.md faq.rst type_promotion.rst rank_promotion_warning.rst
debugging/flags.md debugging/print_breakpoint.md jep/9263-typed-keys.md
notebooks/thinking_in_jax.md notebooks/Common_Gotchas_in_JAX.md notebooks/autodiff_cookbook.md
notebooks/Custom_derivative_rules_for_Python_code.md notebooks/autodiff_remat.md notebooks/vmapped_log_probs.md
jax-primitives.md autodidax.md
notebooks/convolutions.md notebooks/Writing_custom_interpreters_in_Jax.md
""")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")


class Result(NamedTuple):
    """What became of one cell; `verdict` is "same", "rounding", "differs" or "excluded"."""

    document: str
    cell: Cell
    verdict: str
    detail: str
    theirs: str
    ours: str

    @property
    def name(self) -> str:
        return f"{self.document}#{self.cell.number}"


def main() -> int:
    """Measures the documents that are named, or all of them, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("documents", nargs="*", help="paths below the folder; all of DOCUMENTS by default")
    parser.add_argument("--oracle", default=sys.executable, help="a Python with JAX 0.4.35")
    parser.add_argument("--write", action="store_true", help=f"write the table to {TABLE.relative_to(ROOT)}")
    parser.add_argument("--show", action="store_true", help="print the cells that are not the same, with both outputs")
    arguments = parser.parse_args()
    reasons = json.loads((HERE / "reasons.json").read_text())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        each = pool.map(lambda name: measure(arguments.folder, name, arguments.oracle),
                        arguments.documents or DOCUMENTS)
        results = [result for document in each for result in document]
    differing = [result for result in results if result.verdict == "differs"]
    if arguments.show:
        print(*(shown(result) for result in results if result.verdict in ("rounding", "differs")), sep="\n")
    text = report(results, reasons)
    print(text)
    if arguments.write:
        TABLE.write_text(text)
    unexplained = [result.name for result in differing if result.name not in reasons]
    print("without a reason:", *unexplained or ["none"])
    return bool(unexplained)


def measure(folder: pathlib.Path, document: str, oracle: str) -> list[Result]:
    """Runs the cells of one document with both libraries and compares."""
    cells = read_cells(folder / document)
    sources = json.dumps([(runnable(cell), not cell.excluded) for cell in cells])
    theirs, ours = run_cells(oracle, "jax", sources), run_cells(sys.executable, "tinytrace", sources)
    return [Result(document, cell, *judge(cell, a, b), a, b) for cell, a, b in zip(cells, theirs, ours, strict=True)]


def run_cells(python: str, library: str, sources: str) -> list[str]:
    """What each cell shows with a library."""
    command = [python, "-m", "tests.documents.run_cells", library]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}  # JAX's messages may show a set
    done = subprocess.run(command, input=sources, capture_output=True, text=True, cwd=ROOT, check=False, timeout=900,
                          env=environment)
    if done.returncode != 0 or not done.stdout:
        raise RuntimeError(f"{library} failed:\n{done.stderr}")
    shown: list[str] = json.loads(done.stdout)
    return shown


def judge(cell: Cell, theirs: str, ours: str) -> tuple[str, str]:
    """The verdict on a cell, and the rule that excludes it if one does."""
    if cell.excluded:
        return "excluded", cell.excluded
    if re.search(r"! NameError: name '\w+' is not defined", theirs):
        return "excluded", "needs an excluded cell"
    if theirs == ours:
        return "same", ""
    return ("rounding" if equal_up_to_rounding(theirs, ours) else "differs"), ""


def equal_up_to_rounding(a: str, b: str) -> bool:
    """Whether two texts differ only in the last digits of numbers."""
    if NUMBER.sub("", "".join(a.split())) != NUMBER.sub("", "".join(b.split())):
        return False
    pairs = zip(NUMBER.findall(a), NUMBER.findall(b), strict=False)
    return all(x == y or (("." in x or "e" in x) and math.isclose(float(x), float(y), rel_tol=2e-5, abs_tol=2e-6))
               for x, y in pairs)


def report(results: list[Result], reasons: dict[str, str]) -> str:
    """The table, and each differing cell with its reason, as Markdown."""
    lines = ["# The cells of JAX's documents, run here", "",
             "Made by `python -m tests.documents.measure` from `docs/` of JAX 0.4.35; cells are counted from 1. What a",
             "cell prints, the value it shows and the text of its error are compared. *Rounding*: only the last digits",
             "of numbers differ (most single operations are NumPy's here and XLA's there). *Excluded* cells are those",
             "that need devices, plots, files, other packages or XLA, or show a time: the rules are in",
             "`tests/documents/cells.py`.", "",
             "| document | cells | excluded | compared | same | rounding | differ |",
             "|----------|------:|---------:|---------:|-----:|---------:|-------:|"]
    for document in dict.fromkeys(result.document for result in results):
        lines.append(row(document, [result for result in results if result.document == document]))
    lines += [row("**all**", results), "", "Excluded, by rule: " + ", ".join(
        f"{name} {count}" for name, count in collections.Counter(
            result.detail for result in results if result.verdict == "excluded").most_common()) + ".", ""]
    rounding = [result.name for result in results if result.verdict == "rounding"]
    if rounding:
        lines += [f"Rounding: {', '.join(rounding)}.", ""]
    differing = [result for result in results if result.verdict == "differs"]
    if differing:
        lines += ["| cell that differs | why |", "|------|-----|"]
        lines += [f"| {result.name} | {reasons.get(result.name, 'not known yet')} |" for result in differing]
    return "\n".join(lines) + "\n"


def row(title: str, results: list[Result]) -> str:
    """One line of the table."""
    count = collections.Counter(result.verdict for result in results)
    compared = len(results) - count["excluded"]
    return (f"| {title} | {len(results)} | {count['excluded']} | {compared} | {count['same']} | {count['rounding']} | "
            f"{count['differs']} |")


def shown(result: Result) -> str:
    """A differing cell with both outputs, for a terminal."""
    return f"=== {result.name}\n{result.cell.source}--- JAX\n{result.theirs}\n--- tinytrace\n{result.ours}\n"


if __name__ == "__main__":
    sys.exit(main())
