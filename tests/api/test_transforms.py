"""The differentiating and vectorizing functions answer as JAX 0.4.35 does, misuse included."""

import re

import pytest

from tests import goldens

SCENE, CASES = goldens.load("transforms")
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")


@pytest.fixture(scope="module")
def scene():
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=[case.program for case in CASES])
def test_answers_of_jax(case, scene):
    got = goldens.answer(case.program, scene)
    # The last digit of a sine may differ: numbers are compared as numbers, all else as text.
    assert NUMBER.sub("#", got) == NUMBER.sub("#", case.answer)
    assert [float(x) for x in NUMBER.findall(got)] == pytest.approx([float(x) for x in NUMBER.findall(case.answer)])
