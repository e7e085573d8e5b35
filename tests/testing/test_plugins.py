"""The plugins: they wait for tinytrace, draw its types, empty its caches, and show jaxprs of what fails."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

TYPES = """
import sys
import hypothesis
assert "tinytrace" not in sys.modules
import tinytrace as jax
from hypothesis import Phase, find, settings, strategies as st
assert "tinytrace.testing.strategies" not in sys.modules
assert type(jax.__spec__.loader).__name__ == "SourceFileLoader", jax.__spec__
quick = settings(max_examples=50, database=None, phases=[Phase.generate])  # nothing is made smaller
assert isinstance(find(st.from_type(jax.Array), lambda x: x.ndim == 1, settings=quick), jax.Array)
print(find(st.from_type(jax.core.ClosedJaxpr), lambda closed: True, settings=quick))
"""

TESTS = """
import tinytrace as jax, tinytrace.numpy as jnp
from hypothesis import Phase, given, settings
from tinytrace.testing import cases
double = jax.jit(lambda x: x * 2)

def test_traces(trace_counter):
    double(1.0), double(2.0)
    assert trace_counter() == 1

def test_fresh(fresh_cache, trace_counter):
    double(1.0)
    assert trace_counter() == 1
    assert jax.config.read("cache_dir") == str(fresh_cache)

def test_goldens(golden_jaxpr, golden_c):
    golden_jaxpr("double.txt", double, 1.0)
    golden_c("double.c", double, 1.0)

@settings(max_examples=5, database=None, phases=[Phase.generate])
@given(cases(1, 1))
def test_fails(case):
    assert not case
"""


def run(folder, *arguments, code=None):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = ["-c", code] if code else ["-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_types_are_registered_when_tinytrace_is_imported(tmp_path):
    status, text = run(tmp_path, code=TYPES)
    assert status == 0, text
    assert text.startswith("{ lambda ;")


@pytest.mark.slow
def test_fixtures_and_reports(tmp_path):
    (tmp_path / "test_mine.py").write_text(TESTS)
    status, text = run(tmp_path)
    assert status == 1
    assert "2 failed, 2 passed" in text
    assert "run pytest --update-goldens to write it" in text
    assert "the case that was drawn last, as a jaxpr" in text
    assert "{ lambda ; a:" in text
    status, text = run(tmp_path, "--update-goldens", "-k", "goldens")
    assert status == 0, text
    assert "mul c 2.0" in (tmp_path / "goldens" / "double.txt").read_text()


def test_the_plugin_imports_nothing(tmp_path):
    code = "import sys, tinytrace_plugins.for_pytest, tinytrace_plugins.for_hypothesis as h\n" \
           "print([name for name in sys.modules if name.split('.')[0] in ('tinytrace', 'numpy')])"
    assert run(tmp_path, code=code) == (0, "[]\n")
