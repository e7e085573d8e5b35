"""JAX 0.4.35's answers to programs about the whole language; each golden file says what it is about."""

import ast
import functools

import pytest

from tests import goldens

NAMES = ("approximate_top_k", "array_class", "checks", "compile_time", "checkify", "complex_linear_algebra",
         "complex_numbers", "debugging", "details", "dot_algorithms", "effects", "errors", "folds", "fourier",
         "mistakes", "one_process", "pytree_programs", "random_programs", "remembered", "settings", "shard_map",
         "storage_types", "transformed", "values")
FILES = {name: goldens.load(name) for name in NAMES}


@functools.cache
def scene(name):
    return goldens.set_scene(goldens.as_tinytrace(FILES[name][0]))


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, (_, cases) in FILES.items() for case in cases], ids=lambda x: str(x)[:60]
)
def test_answers_of_jax(name, case):
    assert goldens.answer(case.program, dict(scene(name))) == case.answer


def test_every_golden_file_can_be_asked_again():
    """What `make golden` does before it asks JAX: each file has a scene and programs in it."""
    assert len(goldens.names()) > 20
    for name in goldens.names():
        scene, cases = goldens.load(name)
        ast.parse(scene)
        for case in cases:
            assert isinstance(ast.parse(case.program).body[-1], ast.Expr), case.program
