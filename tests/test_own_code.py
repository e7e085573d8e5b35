"""The code that lowers: its files have a stamp, and what is changed in a running process is noticed."""
import shutil
import subprocess
import sys
import types
from unittest import mock

import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import own_code
from tinytrace.codegen import memory, planner
from tinytrace.codegen.passes import pipeline
from tinytrace.core import jaxpr
from tinytrace.core.primitive import registry
from tinytrace.own_code import is_as_imported, is_own
from tinytrace.testing.faults import FAULTS

OF_LOWERED = ["machine code", "kernels", "memory", "texts", "batches", "weak types"]
"""Invariants whose faults are planted in the code that lowers, or that it asks."""


@pytest.fixture
def noted(monkeypatch):
    """Tests import what they test, and are not trusted; what is there now counts."""
    for name, value in (("_noted", {}), ("_counted", [0])):
        monkeypatch.setattr(own_code, name, value)
    own_code.note_imports()
    assert is_as_imported()


def test_nothing_changes_what_is_held_but_changes(noted):
    f = jax.jit(jax.grad(lambda x: jnp.linalg.det(x @ x) + jnp.sort(x).sum() + jax.random.normal(jax.random.key(1))))
    f(jnp.eye(3))
    jax.jit(lambda x: jax.lax.scan(lambda c, y: (c + y, c), 0.0, x))(jnp.arange(4.0))
    assert is_as_imported()


def other(*args):
    """Stands where something else stood."""


@pytest.mark.parametrize(("owner", "name", "value"), [
    (memory, "assign", other),
    (planner.Planner, "kernels", other),
    (pipeline, "PASSES", pipeline.PASSES[1:]),
    (registry["slice"], "lower", other),
    (type(registry["slice"]), "lower", other),
    (jaxpr.Jaxpr, "replace", other),
], ids=["function", "method", "list", "rule of an object", "rule of a room", "method of the language"])
def test_a_change_is_noticed_as_long_as_it_is_there(noted, owner, name, value):
    with mock.patch.object(owner, name, value):
        assert not is_as_imported()
    assert is_as_imported()


def test_a_shorter_list_is_noticed(noted):
    first = pipeline.PASSES.pop(0)
    assert not is_as_imported()
    pipeline.PASSES.insert(0, first)
    assert is_as_imported()


@pytest.mark.not_quick
def test_what_somebody_else_imports_first_is_not_trusted():
    code = "from tinytrace import codegen, own_code\n{}codegen.generate\nprint(own_code.is_as_imported())"
    for first, trusted in (("", "True"), ("import tinytrace.codegen.passes.pipeline\n", "False"),
                           ("import tinytrace.testing.faults\n", "False"),
                           ("import tinytrace.runtime.ladder\n", "False")):
        done = subprocess.run([sys.executable, "-c", code.format(first)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == trusted


def test_a_pass_of_somebody_else_is_noticed_in_a_list_that_was_never_seen():
    module = types.ModuleType("tinytrace.codegen.of_this_test")
    module.PASSES = [is_own, test_nothing_changes_what_is_held_but_changes]
    assert own_code.held_by(module, "tinytrace", True) == own_code.FOREIGN
    module.PASSES.pop()
    assert own_code.held_by(module, "tinytrace", True) != own_code.FOREIGN


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.breaks in OF_LOWERED])
def test_planted_faults_are_noticed(noted, name):
    with FAULTS[name].planted():
        assert not is_as_imported()
    assert is_as_imported()


def test_the_stamp_is_of_the_files(tmp_path, monkeypatch):
    folder = tmp_path / "tinytrace"
    shutil.copytree(own_code.PACKAGE_FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(own_code, "PACKAGE_FOLDER", f"{folder}/")
    stamp = own_code.stamp.__wrapped__
    first = stamp()
    assert first == stamp() != ""
    (folder / "codegen" / "__pycache__").mkdir()
    assert stamp() == first
    text = (folder / "primitives" / "slicing.py").read_text()
    (folder / "primitives" / "slicing.py").write_text(text)  # the same text at another time: nobody looks inside
    second = stamp()
    assert second != first
    (folder / "codegen" / "passes" / "more.py").write_text("")
    assert stamp() not in (first, second)
    shutil.rmtree(folder / "codegen")
    assert stamp() == ""
