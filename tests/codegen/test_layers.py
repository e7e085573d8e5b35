"""C text is final: it comes into being in `codegen/c`, which stands last, so no pass can ask what it says."""

import ast
import pathlib

import tinytrace.codegen as codegen

ROOT = pathlib.Path(codegen.__file__).parent
WRITERS = {"generate.py", "source_map.py"}
"""What may import from `codegen/c`: the way from kernels to text, and what looks up where text came from."""


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_only_the_last_step_sees_c_text():
    outside = [path for path in ROOT.rglob("*.py") if path.parent != ROOT / "c" and path.name not in WRITERS]
    assert len(outside) > 40
    assert [str(path.relative_to(ROOT)) for path in outside
            if any(f"{name}.".startswith("tinytrace.codegen.c.") for name in imported(path))] == []


def test_nobody_reads_text_with_patterns():
    """Nobody: in the last step marks (`lines`) are taken out, and users' texts are judged."""
    readers = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py")
               if {"re", "ast", "tokenize"} & set(imported(path))}
    assert readers <= {"c/comments.py", "c/lines.py"}


def test_formulas_are_opaque_but_for_arithmetic():
    """Who reads a formula: the C writer, with what chooses another one, and the one plan that needs it as arithmetic.

    Those of folds are made operations of (`ir/inserted_operations.py`), which does not look into them.
    """
    readers = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py")
               if "formula" in (getattr(node, "attr", "") for node in ast.walk(ast.parse(path.read_text())))}
    assert readers <= {"c/code.py", "c/nest.py", "c/formulas.py", "c/formulas_in_loops.py", "plan/polynomials.py",
                       "ir/inserted_operations.py"}
