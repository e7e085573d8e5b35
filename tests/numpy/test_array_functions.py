"""Functions of arrays with arguments that are used seldom: complex numbers, names of old, sizes with indices."""

import functools

import pytest

from tests import goldens

SCENE, CASES = goldens.load("array_functions")


@functools.cache
def scene():
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
@pytest.mark.filterwarnings("ignore")
def test_answers_of_jax(case):
    got = goldens.answer(case.program, dict(scene()))
    assert goldens.differences(got, case.answer, 4e-6) == []
