"""Loops that divide their index are cut at the divisor, and store the same."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tests.meanings import in_numpy
from tinytrace.codegen.passes import quotients

PROGRAMS = {
    "repeated": (lambda x: jnp.repeat(x, 4), (1000,)),
    "repeated along rows": (lambda x: jnp.repeat(x, 3, axis=1) + 1, (5, 200)),
    "short rows doubled": (lambda x: jnp.repeat(jnp.repeat(x, 2, 1), 2, 2), (3, 32, 32)),
    "tiled": (lambda x: jnp.tile(x, 4), (1000,)),
    "tiled often": (lambda x: jnp.tile(x, 20), (100,)),
    "tiled along rows": (lambda x: jnp.tile(x, (1, 3)), (5, 200)),
    "in blocks": (lambda x: jnp.kron(x, x + 1), (12, 6)),
    "in a loop": (lambda x: jax.lax.fori_loop(0, 3, lambda k, y: y + jnp.tile(x, 4), jnp.repeat(x, 4)), (100,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_cut_loops_store_the_same(name):
    function, shape = PROGRAMS[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    text = jax.jit(function).lower(x).as_text()
    body = text[text.index("int32_t tt_entry"):]
    assert " / " not in body
    assert " % " not in body
    checked(function, x, inputs=[x])
    got = jax.tree.leaves(jax.jit(function)(x))
    for a, b in zip(got, in_numpy(function, x), strict=True):
        np.testing.assert_array_equal(a, b)


def test_large_results_are_filled_in_order(monkeypatch):
    """They are stored past the caches then, which takes one place at a time."""
    monkeypatch.setattr(quotients, "LARGER_THAN_CACHES", 4096)
    jax.clear_caches()
    assert "i0_quotient < 4" in jax.jit(lambda x: jnp.tile(x, 4)).lower(np.ones(1000, np.float32)).as_text()
    jax.clear_caches()


def test_a_divisor_that_leaves_no_vectors_stays():
    assert "a[i0 / 3]" in jax.jit(lambda x: jnp.repeat(x, 3)).lower(np.ones(10, np.float32)).as_text()
