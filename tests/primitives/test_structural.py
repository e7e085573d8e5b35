"""Primitives that move, fold, index and convolve: jaxprs of their jvp, vjp and vmap, errors and values, as JAX's."""

import functools

import numpy as np
import pytest

from tests import goldens
from tinytrace import lax

NAMES = ("structural", "structural_errors", "structural_values", "windowed", "linear_algebra")
FILES = {name: goldens.load(name) for name in NAMES}


@functools.cache
def scene(name):
    return goldens.set_scene(goldens.as_tinytrace(FILES[name][0]))


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, (_, cases) in FILES.items() for case in cases],
    ids=lambda x: (x if isinstance(x, str) else x.program)[:80])
def test_answers_of_jax(name, case):
    assert goldens.answer(case.program, dict(scene(name))) == case.answer


@pytest.mark.parametrize("dim", [2, 3, -1])
def test_batching_dimensions_are_dimensions_of_the_indices(dim):
    numbers = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,),
                                         operand_batching_dims=(1,), start_indices_batching_dims=(dim,))
    with pytest.raises(TypeError, match=r"start_indices_batching_dims set in gather op; valid range is \[0, 2\)"):
        lax.gather(np.ones((3, 4), np.float32), np.zeros((4, 1), np.int32), numbers, (1, 1))
