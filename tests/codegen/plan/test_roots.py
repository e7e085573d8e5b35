"""The position of an extreme is searched for the extreme that is known already."""
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.meanings import in_numpy

X = np.random.default_rng(0).integers(-5, 5, (30, 128)).astype(np.float32)  # strips leave nothing over of a long row
X[3, 7] = X[3, 9] = X[8, 0] = np.nan


@pytest.mark.parametrize(("function", "folds"), [
    (lambda x: (x.max(1), x.argmax(1)), 1), (lambda x: (x.min(0) + 1, x.argmin(0)), 1),
    (lambda x: (x.max(1), x.argmin(1)), 2), (lambda x: (x.max(1), x.argmax(0)), 2),
    (lambda x: (x.max(1), (x + 1).argmax(1)), 2), (lambda x: (jnp.abs(x).max(1), jnp.abs(x).argmax(1)), 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_an_extreme_is_folded_once(function, folds, dtype):
    x = X if dtype is np.float32 else np.nan_to_num(X).astype(dtype)
    if dtype is np.float32:
        text = jax.jit(function).lower(x).kernels.as_text()
        assert len(re.findall(r"(?:max|min)= (?!position)", text)) == folds
    checked(function, x, inputs=[x])
    for got, want in zip(jax.tree.leaves(jax.jit(function)(x)), in_numpy(function, x), strict=True):
        np.testing.assert_array_equal(got, want)
