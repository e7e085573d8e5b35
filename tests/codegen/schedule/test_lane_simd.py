"""Sums in lanes: every element is added once, whatever is left over of strides, groups and rows of lanes."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp


@pytest.mark.parametrize("columns", [3, 16, 130])
def test_sums_along_columns_of_any_length(columns):
    """Of small whole numbers, which no order of additions rounds."""
    arrays = [(np.arange(n * columns) % 11 - 3).astype(np.float32).reshape(n, columns)
              for n in (7, 255, 256, 523, 1100)]
    sums = jax.jit(lambda arrays: [(jnp.sum(x, axis=0), jnp.sum(x * x, axis=0)) for x in arrays])(arrays)
    for x, (total, squares) in zip(arrays, sums, strict=True):
        np.testing.assert_array_equal(total, x.sum(axis=0))
        np.testing.assert_array_equal(squares, (x * x).sum(axis=0))
