"""Traces of one's own, in the way of JAX 0.4.35: JAX's answers are in tests/goldens/own_traces.txt."""

import pytest

from tests.goldens import answer, as_tinytrace, load, set_scene

SCENE, CASES = load("own_traces")
NAMESPACE = set_scene(as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:70])
def test_answers_of_jax(case):
    assert answer(as_tinytrace(case.program), dict(NAMESPACE)) == case.answer
