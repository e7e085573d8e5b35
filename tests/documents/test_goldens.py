"""Programs in the manner of JAX's documents: random numbers, host callbacks, compiled functions, texts of errors."""

import functools
import re
import warnings

import numpy as np
import pytest

from tests import goldens
from tests.control_flow.test_goldens import same

SCENE, CASES = goldens.load("documents")


@functools.cache
def scene():
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
def test_as_jax(case):
    with warnings.catch_warnings(), np.printoptions(legacy="1.25"):
        warnings.simplefilter("ignore")
        answer = goldens.answer(case.program, scene())
    if not same(bare(answer), bare(case.answer)):
        assert answer == case.answer


def bare(text):
    """The text without the modules in which classes are defined."""
    return re.sub(r"<class '[\w.]*\.(\w+)'>", r"<class '\1'>", text)
