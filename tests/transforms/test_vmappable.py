"""Classes that `vmap` maps by functions of theirs: JAX's answers are in tests/goldens/vmappables.txt."""

import numpy as np
import pytest

import tinytrace as jax
from tests.goldens import answer, as_tinytrace, load, set_scene
from tinytrace.interpreters import batching

SCENE, CASES = load("vmappables")


@pytest.fixture(scope="module")
def scene():
    namespace = set_scene(as_tinytrace(SCENE))
    yield namespace
    batching.unregister_vmappable(namespace["Named"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
def test_answers_of_jax(case, scene):
    assert answer(as_tinytrace(case.program), dict(scene)) == case.answer


def test_what_was_registered_can_be_taken_back():
    class Pair:
        shape = (2,)

        def __init__(self, x):
            self.x = x

    batching.register_vmappable(Pair, str, float, lambda cont, index, pair, spec: Pair(cont(pair.x, 0) + index()),
                                lambda cont, size, pair, spec: Pair(cont(size, pair.x, 0)), lambda size: np.zeros(2))
    try:
        assert batching.make_iota(2.0).tolist() == [0, 0]
        assert jax.vmap(lambda pair, y: pair, in_axes=("whole", 0), out_axes="whole", axis_size=2)(
            Pair(np.float32([5, 6])), np.ones(2)).x.tolist() == [5, 7]
        assert jax.vmap(lambda pair: pair, "whole", "whole", axis_size=2)(Pair(np.float32([5, 6]))).x.tolist() == [5, 7]
    finally:
        batching.unregister_vmappable(Pair)
    assert not batching.is_vmappable(Pair(1))
    with pytest.raises(TypeError):
        jax.vmap(lambda pair: pair)(Pair(np.ones(2)))


@pytest.mark.parametrize(("names", "told"), [({}, "at vmap out_axes, got axis spec None"),
                                             ({"axis_name": "i"}, r"mapped output \(axis_name='i'\)")])
def test_a_mapped_result_that_is_wanted_unmapped_is_told_as_ever(scene, names, told):
    """Whether or not some class is registered."""
    assert batching.vmappables
    with pytest.raises(ValueError, match=told):
        jax.vmap(lambda x: x, out_axes=None, **names)(np.ones(3))
