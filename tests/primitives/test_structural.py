"""Primitives that move, fold, index and convolve: the jaxprs of their jvp, vjp and vmap, their errors and values, as JAX's."""

import functools

import pytest

from tests import goldens

FILES = {name: goldens.load(name) for name in ("structural", "structural_errors", "structural_values", "windowed", "linear_algebra")}


@functools.cache
def scene(name):
    return goldens.set_scene(goldens.as_tinytrace(FILES[name][0]))


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, (_, cases) in FILES.items() for case in cases],
    ids=lambda x: (x if isinstance(x, str) else x.program)[:80])
def test_answers_of_jax(name, case):
    assert goldens.answer(case.program, dict(scene(name))) == case.answer
