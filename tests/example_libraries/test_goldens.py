"""Optimizers, layers and solvers by functions: values and errors as JAX 0.4.35 has them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests import goldens
from tests.control_flow.test_goldens import same

SCENE, CASES = goldens.load("example_libraries")


@functools.cache
def scene() -> dict[str, Any]:
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program.splitlines()[-1][:70])
def test_as_jax(case: goldens.Case) -> None:
    with np.printoptions(legacy="1.25"):
        answer = goldens.answer(case.program, scene())
    if not same(answer, case.answer):
        assert answer == case.answer
