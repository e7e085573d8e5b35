"""The twelve steps: small differences, one master text. Their own tests stand beside them."""

import difflib
import subprocess
import sys

import pytest
from steps import STEPS, module_path, module_text

NUMBERS = range(1, len(STEPS) + 1)
LIMIT = 150


def changed(before, after):
    """The lines of the difference of two texts, blank ones not counted."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---") and line[1:].strip()]


def test_there_are_twelve_steps_each_with_a_readme_and_tests():
    assert len(STEPS) == 12
    for n in NUMBERS:
        folder = module_path(n).parent
        assert (folder / f"test_step_{n:02}.py").exists()
        assert all(f"**{part}.**" in (folder / "README.md").read_text() for part in ("Why", "What", "Run it", "Try"))


@pytest.mark.parametrize("n", NUMBERS)
def test_a_step_is_a_small_difference(n):
    before = module_path(n - 1).read_text() if n > 1 else ""
    assert 20 < len(changed(before, module_path(n).read_text())) <= LIMIT


@pytest.mark.parametrize("n", NUMBERS)
def test_a_module_is_what_the_master_makes(n):
    assert module_path(n).read_text() == module_text(n)


@pytest.mark.parametrize("n", NUMBERS)
def test_a_module_runs_on_its_own(n):
    ran = subprocess.run([sys.executable, "-I", "-W", "error", str(module_path(n))], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_the_last_module_has_fewer_than_1500_lines():
    assert len(module_path(12).read_text().splitlines()) < 1500
