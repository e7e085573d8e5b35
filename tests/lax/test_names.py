"""Functions of jax.ops, jax.lax and jax that are few lines each: JAX 0.4.35's answers."""

import functools

import pytest

from tests import goldens

SCENE, CASES = goldens.load("small_names")


@functools.cache
def scene():
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
def test_answers_of_jax(case):
    assert goldens.differences(goldens.answer(case.program, dict(scene())), case.answer, 1e-6) == []
