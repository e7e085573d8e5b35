"""Planning leaves no objects that refer to themselves: Python frees them at once, without looking for cycles."""

import gc

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp


@pytest.mark.parametrize("function", [
    lambda x: jnp.sin(x).sum() * 0.75, lambda x: jnp.where(x > 0.75, jnp.cumsum(x), -x)])
def test_a_first_call_leaves_no_cycles(function):
    jax.jit(lambda x: x.sum() * 0.625)(np.float32([1, 2]))  # imports what is imported once
    jitted, x = jax.jit(function), jnp.ones(3)
    function(x)
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        jitted(x)
        gc.collect()
        assert [type(left).__name__ for left in gc.garbage] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
