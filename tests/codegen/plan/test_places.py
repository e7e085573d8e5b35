"""Integers made of places alone are sums of loop variables where they are places again: steps of slices."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked

SLICES = {
    "every other": lambda x: x[::2, 1::2],
    "backwards": lambda x: x[::-1, 40:3:-3],
    "four of them": lambda x: x[::2, ::2] - x[1::2, ::2] + x[::2, 1::2] - x[1::2, 1::2],
    "places": lambda x: x[2 * jnp.arange(20) + 1, 59 - jnp.arange(20)],
    "past the end": lambda x: x[jnp.arange(20) * 3, 0],
}


@pytest.mark.parametrize("name", SLICES)
def test_steps_are_read_without_gathers(name):
    x = np.random.default_rng(0).standard_normal((40, 60)).astype(np.float32)
    jitted = jax.jit(SLICES[name])
    if name not in ("places", "past the end"):
        assert "int32_t" not in jitted.lower(x).as_text().split("tt_entry")[-1].split("{", 1)[1]
        np.testing.assert_array_equal(jitted(x), SLICES[name](x))
    checked(SLICES[name], x, inputs=[x])
    np.testing.assert_array_equal(jitted(x), np.asarray(SLICES[name](jnp.asarray(x))))


def test_sums_that_leave_their_type_wrap():
    def places(x):
        return x[(jnp.arange(40, dtype=jnp.int8) * 7).astype(jnp.int32) % 40]
    x = np.arange(40, dtype=np.float32)
    at = (np.arange(40, dtype=np.int8) * np.int8(7)).astype(np.int32) % 40
    np.testing.assert_array_equal(jax.jit(places)(x), x[at])
