"""Samplers: the jaxprs, streams and errors of JAX 0.4.35."""

import functools

import pytest

from tests import goldens

SCENE, CASES = goldens.load("samplers")


@functools.cache
def scene():
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
def test_answers_of_jax(case):
    # Bits of the streams are JAX's; logarithms, roots and factorizations of them may differ in the last digit.
    assert goldens.differences(goldens.answer(case.program, dict(scene())), case.answer, 4e-6) == []
