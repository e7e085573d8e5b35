"""Partly known programs, staging rules and types with variables: JAX's answers are in goldens/tracing_insides.txt."""

import pytest

from tests.goldens import answer, as_tinytrace, load, set_scene

SCENE, CASES = load("tracing_insides")
NAMESPACE = set_scene(as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:70])
def test_answers_of_jax(case):
    assert answer(as_tinytrace(case.program), dict(NAMESPACE)) == case.answer
