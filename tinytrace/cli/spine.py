"""`tinytrace spine`: the files that make up the spine, in the order of reading, and how long they are.

Who has read them has followed one call from the user's function to the compiled program. Everything else is more of the
same: more primitives, more passes, more library functions.
"""
from __future__ import annotations

import ast
import pathlib

PACKAGE = pathlib.Path(__file__).parent.parent

SPINE = [
    "core/jaxpr.py", "core/avals.py", "core/dtypes.py", "core/trace.py", "core/primitive.py",
    "primitives/arithmetic.py", "transforms/staging.py", "core/printer.py", "transforms/jvp.py",
    "transforms/partial_eval.py", "transforms/transpose.py", "control_flow/scan.py", "passes/simplify.py",
    "core/kinds.py", "codegen/ir/nodes.py", "codegen/ir/statements.py", "codegen/ir/kernel.py",
    "codegen/plan/lowering.py", "codegen/plan/elements.py", "codegen/plan/values.py", "codegen/plan/partition.py",
    "codegen/schedule/loops.py", "codegen/passes/pipeline.py", "codegen/memory.py", "codegen/generate.py",
    "runtime/ladder.py", "runtime/store.py", "api/jit.py", "api/traced_calls.py", "api/jit_cache.py",
]


def line_counts() -> dict[str, int]:
    """Return how many lines that are not blank each file of the spine has."""
    return {name: sum(bool(line.strip()) for line in (PACKAGE / name).read_text().splitlines()) for name in SPINE}


def run_spine() -> None:
    """Print each file of the spine with its length and the first line of its docstring, and the sum."""
    counts = line_counts()
    for name, count in counts.items():
        docstring = ast.get_docstring(ast.parse((PACKAGE / name).read_text())) or ""
        print(f"{count:6}  {name:28} {docstring.splitlines()[0]}")
    print(f"{sum(counts.values()):6}  lines in {len(counts)} files")
