"""Folds along columns that are cut into groups of rows: a second fold is joined with the first only where it may be."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp

X = (np.random.default_rng(0).integers(-40, 50, (1100, 37)) / 8).astype(np.float32)


@pytest.mark.parametrize("second", [
    lambda np, x: ((x - x.mean(0)) ** 2).sum(0),
    lambda np, x: ((x - x.mean(0)) ** 2).sum(0) + ((x - x.mean(0)) * x).sum(0),
    lambda np, x: np.where(x > x.mean(0), x, 0).sum(0),
    lambda np, x: np.abs(x - x.mean(0)).sum(0),
    lambda np, x: np.exp(x - x.max(0)).sum(0),
    lambda np, x: ((x - x.mean(0)) ** 2).sum(0) + np.where(x > x.mean(0), x, 0).sum(0),
    lambda np, x: ((x - x.mean(0)) ** 2).sum(0) * np.exp(x - x.max(0)).sum(0),
    lambda np, x: ((x - x.max(0)) ** 2).sum(0),
    lambda np, x: (x - x.mean(0)).max(0),
    lambda np, x: ((x[:700] - x.mean(0)) ** 2).sum(0),
])  # fmt: skip
def test_a_fold_after_a_fold(second):
    expected = X.astype(np.float64).sum(0), second(np, X.astype(np.float64))
    for out, wanted in zip(jax.jit(lambda x: (x.sum(0), second(jnp, x)))(X), expected, strict=True):
        np.testing.assert_allclose(out, wanted, 2e-5, 1e-3)
