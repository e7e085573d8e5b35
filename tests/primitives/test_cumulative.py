"""Running sums begin with 0."""

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import lax
from tinytrace.core.trace import interpreting


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_running_sum_of_negative_zeros_is_zero(dtype, reverse):
    x = jax.numpy.array([-0.0, -0.0, -1.0], dtype)
    compiled = jax.jit(lax.cumsum, static_argnums=(1, 2))(x, 0, reverse)
    with interpreting():
        interpreted = lax.cumsum(x, 0, reverse)
    assert compiled.dtype == interpreted.dtype == x.dtype
    signs = [np.signbit(np.asarray(y, np.float32)).tolist() for y in (compiled, interpreted)]
    assert signs == [[reverse, reverse, True]] * 2
