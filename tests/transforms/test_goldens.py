"""Transformed programs print what JAX 0.4.35 prints, and compute what it computes."""

import json
import pathlib
import re

import numpy as np
import pytest

import tinytrace
from tests import goldens
from tinytrace.core.typecheck import check_jaxpr

DATA = json.loads((pathlib.Path(goldens.__file__).parent / "transforms.json").read_text())
PROGRAMS = [program for program in DATA["programs"] if "error" not in program]
MISUSES = [program for program in DATA["programs"] if "error" in program]


def name(program):
    return f"{program['fn']} | {program['args']}"


@pytest.fixture(scope="module")
def scene():
    return goldens.set_scene(goldens.as_tinytrace(DATA["scene"]))


def build(program, scene):
    return eval(program["fn"], scene), eval(f"({program['args']},)", scene)


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_text(program, scene):
    fun, args = build(program, scene)
    closed = tinytrace.make_jaxpr(fun)(*args)
    check_jaxpr(closed.jaxpr)
    assert goldens.normalise(str(closed)) == goldens.normalise(program["text"])


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_values(program, scene):
    fun, args = build(program, scene)
    leaves = tinytrace.tree_util.tree_leaves(fun(*args))
    assert len(leaves) == len(program["leaves"])
    for leaf, wanted in zip(leaves, program["leaves"], strict=True):
        check_leaf(leaf, wanted)


def check_leaf(leaf, wanted):
    got = np.asarray(leaf)
    dtype = "float0" if got.dtype.names else str(got.dtype)
    if wanted["kind"] == "array":
        assert isinstance(leaf, tinytrace.Array)
    if wanted["kind"] != "python":
        assert (dtype, list(got.shape)) == (wanted["dtype"], wanted["shape"])
        assert bool(getattr(leaf, "weak_type", False)) == wanted["weak"]
    if wanted["data"] is not None:
        rtol, atol = (2e-2, 1e-3) if got.dtype.itemsize < 4 else (2e-5, 2e-6)
        np.testing.assert_allclose(got.astype(float).reshape(-1), wanted["data"], rtol=rtol, atol=atol)


@pytest.mark.parametrize("program", MISUSES, ids=name)
def test_errors(program, scene):
    fun, args = build(program, scene)
    kind, message = program["error"].split(": ", 1)
    with pytest.raises(Exception, match=f"^{re.escape(message)}$") as caught:
        fun(*args)
    assert type(caught.value).__name__ == kind
