"""What every row of a result reads at a distance is packed once, if it is there in any case."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.meanings import in_numpy

ROWS = {
    "a diagonal": lambda x: x + jnp.diag(x),
    "a column": lambda x: jnp.tanh(x) * x[:, 3],
    "two of them": lambda x: x * x[:, 5] - jnp.diag(x),
    "in a loop": lambda x: jax.lax.fori_loop(0, 3, lambda k, y: y * 0.5 + jnp.diag(y), x),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_diagonal_that_all_rows_read_is_packed(name):
    x = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
    assert "_of_" in jax.jit(ROWS[name]).lower(x).as_text()
    checked(ROWS[name], x, inputs=[x])
    for a, b in zip(jax.tree.leaves(jax.jit(ROWS[name])(x)), in_numpy(ROWS[name], x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_what_is_not_there_for_all_is_not_packed():
    def guarded(x):
        return jnp.pad(jnp.diag(x), (0, 40)) + jnp.ones((30, 80), jnp.float32)
    x = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
    checked(guarded, x, inputs=[x])
    np.testing.assert_array_equal(jax.jit(guarded)(x), np.pad(np.diag(x), (0, 40)) + np.ones((30, 80), np.float32))


@pytest.mark.parametrize(("distance", "lanes"), [(2, True), (4, True), (5, False)])
def test_folds_of_what_lies_few_places_apart_are_computed_side_by_side(distance, lanes):
    def down_the_columns(x):
        return jnp.sum(x[..., 0] * x[..., 1], 0)
    x = np.random.default_rng(0).standard_normal((200, 40, distance)).astype(np.float32)
    assert ("lane" in jax.jit(down_the_columns).lower(x).as_text()) == lanes
    checked(down_the_columns, x, inputs=[x])
    np.testing.assert_allclose(jax.jit(down_the_columns)(x), (x[..., 0] * x[..., 1]).sum(0), rtol=1e-4, atol=1e-4)
