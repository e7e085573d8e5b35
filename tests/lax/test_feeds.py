"""`infeed` and `outfeed`: JAX's answers are in tests/goldens/feeds.txt."""

import pickle

import numpy as np
import pytest

import tinytrace as jax
from tests.goldens import answer, as_tinytrace, load, set_scene
from tinytrace import lax

SCENE, CASES = load("feeds")
NAMESPACE = set_scene(as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:70])
def test_answers_of_jax(case):
    assert answer(as_tinytrace(case.program), dict(NAMESPACE)) == case.answer


@pytest.mark.parametrize("runs", [lambda f: f(), lambda f: jax.jit(f)()])
def test_what_is_fed_has_the_type_that_was_asked_for(runs):
    jax.devices()[0].transfer_to_infeed((np.float32(1),))
    with pytest.raises(RuntimeError, match=r"infeed wants arrays of types float32\[2\], and was fed float32\[\]"):
        runs(lambda: lax.infeed(lax.create_token(), NAMESPACE["row"])[0])


def test_one_array_that_is_fed_out_and_pickled_operations():
    lax.outfeed(lax.create_token(), NAMESPACE["x"])
    one = jax.lib.xla_client.shape_from_pyval(NAMESPACE["x"])
    assert (one.dimensions(), one.numpy_dtype(), one.is_tuple()) == ((2,), np.float32, False)
    assert jax.devices()[0].transfer_from_outfeed(one).tolist() == [1, 2]
    assert pickle.loads(pickle.dumps([lax.infeed_p, lax.outfeed_p])) == [lax.infeed_p, lax.outfeed_p]
