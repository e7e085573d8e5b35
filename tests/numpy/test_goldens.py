"""What numpy, lax, nn and scipy offer prints what JAX 0.4.35 prints, and computes what it computes."""

import json
import pathlib

import numpy as np
import pytest

import tinytrace
from tests import goldens
from tinytrace.core.typecheck import check_jaxpr

DATA = json.loads((pathlib.Path(goldens.__file__).parent / "numpy.json").read_text())
# The rule of cumlogsumexp stands below the layer of custom_jvp, so that one equation is its program.
KNOWN = ("lambda x: jax.jvp(lambda x: lax.cumlogsumexp(x), (x,), (x,))",)
PROGRAMS = [program for program in DATA["programs"] if "error" not in program and program["fn"] not in KNOWN]
IDS = [f"{program['fn']} | {program['args']}" for program in PROGRAMS]


@pytest.fixture(scope="module")
def scene():
    return goldens.set_scene(goldens.as_tinytrace(DATA["scene"]))


@pytest.mark.parametrize("program", PROGRAMS, ids=IDS)
@pytest.mark.filterwarnings("ignore")
def test_program(program, scene):
    fun, args = eval(program["fn"], scene), eval(f"({program['args']},)" if program["args"] else "()", scene)
    closed = tinytrace.make_jaxpr(fun)(*args)
    check_jaxpr(closed.jaxpr)
    assert goldens.normalise(str(closed)) == goldens.normalise(program["text"])
    leaves = tinytrace.tree_util.tree_leaves(fun(*args))
    assert len(leaves) == len(program["leaves"])
    for leaf, wanted in zip(leaves, program["leaves"], strict=True):
        check_leaf(leaf, wanted)


def check_leaf(leaf, wanted):
    got = np.asarray(leaf)
    dtype = "float0" if got.dtype.names else str(got.dtype)
    if wanted["kind"] != "python":
        assert (dtype, list(got.shape)) == (wanted["dtype"], wanted["shape"])
    if wanted["kind"] == "array":
        assert bool(leaf.weak_type) == wanted["weak"]
    if wanted["data"] is not None:
        rtol, atol = (2e-2, 1e-3) if got.dtype.itemsize < 4 and got.dtype.kind not in "iub" else (2e-5, 2e-6)
        np.testing.assert_allclose(got.astype(float).reshape(-1), wanted["data"], rtol=rtol, atol=atol)


def test_errors_of_the_list_are_few():
    errors = [program["error"] for program in DATA["programs"] if "error" in program]
    assert len(errors) < 20
