"""Elementwise primitives: jaxprs of tangents, cotangents and vectorizations, errors and edge values, as JAX's."""

import functools

import pytest

from tests import goldens

NAMES = ("elementwise", "elementwise_errors", "elementwise_values")
FILES = {name: goldens.load(name) for name in NAMES}


@functools.cache
def scene(name):
    return goldens.set_scene(goldens.as_tinytrace(FILES[name][0]))


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, (_, cases) in FILES.items() for case in cases],
    ids=lambda x: (x if isinstance(x, str) else x.program)[:80])
def test_answers_of_jax(name, case):
    assert goldens.answer(case.program, dict(scene(name))) == case.answer
