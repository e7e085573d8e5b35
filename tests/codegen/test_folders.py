"""Folders of the code generator import downwards only."""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
ORDER = ["csource", "ir", "effort", "memory", "program", "checking", "plan", "schedule", "whole", "planner", "passes",
         "c", "source_map", "generate"]  # fmt: skip
FILES = sorted((ROOT / "tinytrace" / "codegen").rglob("*.py"))


def rank(module):
    return ORDER.index(module.split(".")[2])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_of_each_file(path):
    tree = ast.parse(path.read_text())
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [name for name in imported if name and name.startswith("tinytrace.codegen.")]
    if path.name != "__init__.py":
        assert [name for name in ours if rank(name) > rank(module)] == []
        assert "TYPE_CHECKING" not in path.read_text()


def test_all_passes_are_in_the_list():
    names = {path.stem for path in FILES if path.parent.name == "passes"} - {"__init__", "pipeline"}
    names -= {"half_phases", "loop_fission", "row_strips", "strips"}  # which passes use
    names -= {"donation"}  # which `generate` runs: it must be told which arguments are donated
    imports = (ROOT / "tinytrace" / "codegen" / "passes" / "pipeline.py").read_text()
    assert [name for name in sorted(names) if f"passes.{name} import" not in imports] == []
