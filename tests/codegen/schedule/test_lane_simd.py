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


MIXED = {
    "copies": lambda np, x: (x.T * 2, x.T.sum(1) / x.sum()),
    "copies of a batch": lambda np, x: (np.swapaxes(x, 0, 2) * 2, centred(np.swapaxes(x, 0, 2).sum(2))),
    "other folds": lambda np, x: (x.T.sum(1), (x.T * 2).sum()),
    "folds of another kind": lambda np, x: (np.abs(x.T).max(), centred(x.T.sum(1))),
    "running folds": lambda np, x: (np.cumsum(x.T, 1), centred(x.T.sum(1))),
}


def centred(x):
    return x - x.max(-1, keepdims=True)


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("shape", [(5, 6), (40, 70)])
def test_folds_of_columns_beside_something_else_in_one_loop(name, shape):
    shape = (*shape, 3) if "batch" in name else shape
    x = (np.random.default_rng(0).integers(-40, 50, shape) / 8).astype(np.float32)
    for ours, expected in zip(jax.jit(lambda x: MIXED[name](jnp, x))(x), MIXED[name](np, x), strict=True):
        np.testing.assert_allclose(ours, expected, 1e-5, 1e-5)
