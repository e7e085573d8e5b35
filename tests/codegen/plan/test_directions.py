"""Folds along the rows of an array and folds across them do not share loops."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.meanings import in_numpy

BOTH_WAYS = {
    "sums of a square": lambda x: (x.sum(0), x.max(1)),
    "of what is computed of it": lambda x: ((x * x).sum(1), jnp.sin(x).min(0)),
    "around both means": lambda x: x - x.mean(0) - x.mean(1)[:, None],
    "running": lambda x: (jnp.cumsum(x, 0), jnp.cumsum(x, 1)),
    "products": lambda x: (x @ x[0], x[0] @ x),
}


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_each_way_has_its_loops(name):
    x = np.random.default_rng(0).standard_normal((96, 96)).astype(np.float32)
    kernels = checked(BOTH_WAYS[name], x, inputs=[x])
    assert kernels
    jitted = jax.jit(BOTH_WAYS[name])
    assert len(list(jitted.lower(x).kernels)) >= 2
    for a, b in zip(jax.tree.leaves(jitted(x)), in_numpy(BOTH_WAYS[name], x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_folds_the_same_way_share_their_loops():
    x = np.ones((96, 96), np.float32)
    assert len(list(jax.jit(lambda x: (x.sum(1), x.max(1))).lower(x).kernels)) == 1
    assert len(list(jax.jit(lambda x: (x.sum(0), x.max(0))).lower(x).kernels)) == 1


def test_small_arrays_share_their_loops_whatever_the_way():
    assert len(list(jax.jit(lambda x: (x.sum(0), x.max(1))).lower(np.ones((8, 8), np.float32)).kernels)) == 1


def test_what_stores_rows_is_no_loop_over_sums_of_columns():
    def step(a, b, x, y):
        v = x @ a
        return b + v[:, None] * y + y[:, None] * x, v

    a, x = np.random.default_rng(0).integers(-9, 9, (96, 96)).astype(np.float32), np.arange(96, dtype=np.float32)
    text = jax.jit(step).lower(a, a, x, x).as_text()
    assert "lane" in text
    assert "a[i0 + 96 * i1]" not in text
    for found, want in zip(jax.jit(step)(a, a, x, x), step(a, a, x, x), strict=True):
        np.testing.assert_array_equal(found, want)
    checked(step, a, a, x, x, inputs=[a, a, x, x])
