"""The page on adding a pass: its pass works in the list, and is held to its word there."""

import pathlib
import re

import numpy as np
import pytest

import tinytrace as jax
from tests.codegen import test_goldens as golden
from tests.codegen.test_passes import checked, shrunk
from tinytrace.codegen.passes import pipeline

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "adding-a-pass.md"


@pytest.fixture
def added(monkeypatch):
    names = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1], names)
    monkeypatch.setattr(pipeline, "PASSES", [pipeline.PASSES[0], names["join_scalars"], *pipeline.PASSES[1:]])


@pytest.mark.parametrize("name", ["collatz", "heat", "softmax", "scan_rnn", "piecewise", "fill_rows"])
def test_programs_mean_the_same_with_it(name, added):
    function, *args = golden.PROGRAMS[name]
    checked(function, *map(shrunk, args))


def test_it_does_something(added):
    def program(x):
        return jax.lax.fori_loop(0, 9, lambda i, s: s * 2 + i, x), x + 1

    step = next(step for step in jax.jit(program).lower(np.float32(1)).passes if step.name == "join_scalars")
    assert step.changed
