"""The demo, as `make demo` runs it: in a process of its own, with an empty cache, and then once more."""

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT


def demo(cache_dir):
    environment = {**os.environ, "TINYTRACE_CACHE_DIR": str(cache_dir), "TINYTRACE_STRICT": "1"}
    command = [sys.executable, "-m", "tinytrace.cli", "demo"]
    return subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.fixture(scope="module")
def first_and_second_run(tmp_path_factory):
    cache_dir = tmp_path_factory.mktemp("cache")
    cache_dir.chmod(0o700)
    return demo(cache_dir), demo(cache_dir)


def summary(text):
    """How many programs were run, compiled, found on disk, found in memory, according to the last lines."""
    found = re.search(r"(\d+) programs: \w+: (\d+) compiled, (\d+) from disk, (\d+) from memory", text)
    return [int(group) for group in found.groups()]


@pytest.mark.slow
def test_the_first_run_compiles_and_the_second_finds_all_on_disk(first_and_second_run):
    first, second = first_and_second_run
    programs, compiled, from_disk, _ = summary(first)
    assert programs == 7
    assert compiled > 0
    assert from_disk == 0
    assert summary(second)[1:3] == [0, compiled]


@pytest.mark.slow
def test_it_shows_what_the_introductions_show(first_and_second_run):
    first, _ = first_and_second_run
    for text in (
        "    c:f32[] = log 2.0\n    d:f32[] = div b c\n",
        "printed x: Traced<ShapedArray(float32[], weak_type=True)>with<DynamicJaxprTrace(level=1/0)>",
        "TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].\n",
        "The error occurred while tracing the function f at conditions.py:",
        "Array(30, dtype=int32, weak_type=True)",
        "[30. 51.]\n[60. 81.]\n",
        "jit called in a loop with lambdas: 30,",
    ):
        assert text in first


@pytest.mark.not_quick
def test_it_shows_the_c_of_the_smaller_programs(first_and_second_run):
    assert first_and_second_run[0].count("int32_t tt_entry(") >= 4


@pytest.mark.not_quick
def test_an_unknown_command_is_refused():
    command = [sys.executable, "-m", "tinytrace.cli", "dmo"]
    ran = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert "invalid choice: 'dmo'" in ran.stderr


@pytest.mark.parametrize("name", ["shapes", "closure"])
def test_the_programs_run_by_themselves(name):
    ran = subprocess.run([sys.executable, "-m", f"tinytrace.cli.programs.{name}"], cwd=ROOT, check=False)
    assert ran.returncode == 0
