"""First and second derivatives where rules go wrong, as JAX's: zeros, infinities, NaN, ties, ends of domains.

Central differences say nothing there, so the expectations are JAX's own.
"""

import pytest

from tests import goldens

SCENE, CASES = goldens.load("singular_points")
TOLERANCE = 2e-3
"""Of second derivatives in single precision."""


@pytest.fixture(scope="module")
def scene():
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program)
def test_derivatives_of_jax(case, scene):
    differences = goldens.differences(goldens.answer(case.program, scene), case.answer, TOLERANCE)
    assert not differences, "\n".join(differences)
