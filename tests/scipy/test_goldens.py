"""jax.scipy: the jaxprs, values and errors of JAX 0.4.35."""

import functools

import pytest

from tests import goldens

NAMES = ("schur_forms", "scipy_leaves", "scipy_linalg", "signal", "special_names", "spectra", "stats")
FILES = {name: goldens.load(name) for name in NAMES}


@functools.cache
def scene(name):
    return goldens.set_scene(goldens.as_tinytrace(FILES[name][0]))


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, (_, cases) in FILES.items() for case in cases], ids=lambda x: str(x)[:60]
)
def test_answers_of_jax(name, case):
    got = goldens.answer(case.program, dict(scene(name)))
    assert goldens.differences(got, case.answer, 4e-6) == []  # last digits vary with logarithms and with LAPACK
