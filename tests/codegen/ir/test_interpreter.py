"""The meaning of kernels in NumPy, where NumPy's own habits are others."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16"])
def test_sums_of_small_integers_wrap(dtype):
    """NumPy adds them in 64 bits."""
    x = np.full((1, 5), np.iinfo(dtype).max, dtype)
    lowered = jax.jit(lambda x: jnp.sum(x, 1, dtype=dtype)).lower(x)
    interpreted, = lowered.kernels.run(x)
    np.testing.assert_array_equal(interpreted, lowered.compile()(x))
