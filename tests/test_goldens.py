"""JAX 0.4.35's answers: errors and warnings of misused programs, programs on pytrees, and jaxprs of random programs."""

import functools

import pytest

from tests import goldens

FILES = {name: goldens.load(name) for name in ("errors", "mistakes", "pytree_programs", "random_programs")}


@functools.cache
def scene(name):
    return goldens.set_scene(goldens.as_tinytrace(FILES[name][0]))


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, (_, cases) in FILES.items() for case in cases], ids=lambda x: str(x)[:60]
)
def test_answers_of_jax(name, case):
    assert goldens.answer(case.program, dict(scene(name))) == case.answer
