"""The diffs of docs/exercise.md apply to the package, and what they add passes the tests of its kind."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

import tinytrace

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = pathlib.Path(tinytrace.__file__).parent
DIFF = re.compile(r"```diff\n--- (\S+)\n\+\+\+ b/(\S+)\n(.*?)```", re.DOTALL)
DIFFS = DIFF.findall((ROOT / "docs" / "exercise.md").read_text())
JOINED = """
    import numpy as np
    import tinytrace as jax
    def program(x):
        return jax.lax.fori_loop(0, 9, lambda i, s: s * 2 + i, x), x + 1
    steps = jax.jit(program).lower(np.float32(1)).passes
    assert any(step.changed for step in steps if step.name == "join_scalars"), [step.name for step in steps]
"""


def applied(text: str, diff: str) -> str:
    """Apply the hunks of a diff, each where the lines that it keeps and drops stand."""
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        assert not old or text.count(old) == 1, f"this stands not once in the file:\n{old}"
        new = "".join(line[1:] for line in lines if line[0] in " +")
        text = text.replace(old, new) if old else new
    return text


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package with all diffs applied; tests are this project's.

    Bytecode is copied, too, and fits, as copies are as old as what they are made of: there are 600 modules to compile.
    """
    folder = tmp_path_factory.mktemp("exercise")
    shutil.copytree(PACKAGE, folder / "tinytrace")
    for old, path, diff in DIFFS:
        file = folder / path
        assert file.exists() == (old != "/dev/null")
        file.write_text(applied(file.read_text() if file.exists() else "", diff))
    for name in ("tests", "benchmarks", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def run(folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_three_changes_and_few_places():
    assert [(old == "/dev/null", path) for old, path, _ in DIFFS] == [
        (True, "tinytrace/primitives/softsign.py"), (True, "tinytrace/primitives/fmax.py"),
        (True, "tinytrace/codegen/passes/scalars.py"), (False, "tinytrace/codegen/passes/pipeline.py")]
    added = [line for line in DIFFS[-1][2].splitlines() if line.startswith("+")]
    assert len(added) == 2, "an import, and a line of the list"


@pytest.mark.slow
def test_the_operations_keep_the_laws_of_the_registry(copy):
    assert str(copy) in run(copy, "-c", "import tinytrace; print(tinytrace.__file__)")
    said = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/primitives/test_registry.py",
               "-k", "softsign or reduce_fmax")
    assert int(re.search(r"(\d+) passed", said)[1]) >= 16
    run(copy, "-m", "doctest", "tinytrace/primitives/softsign.py", "tinytrace/primitives/fmax.py")


@pytest.mark.slow
def test_the_pass_is_held_to_its_word(copy):
    run(copy, "-c", textwrap.dedent(JOINED))
    said = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/codegen/test_passes.py",
               "tests/codegen/test_folders.py", "-k", "collatz or heat or piecewise or fill_rows"
               " or softsign or reduce_fmax or scalars or in_the_list")
    assert int(re.search(r"(\d+) passed", said)[1]) > 5
