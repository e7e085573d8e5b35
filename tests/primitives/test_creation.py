"""Arrays that are one number everywhere."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax

NUMBERS = [0, 1, -7, True, 2.5, -0.0, 1e-8, 65519.999, 65520.0, 1e39, float("nan"), float("inf"), 2**24 + 1, -2**31,
           1.00048828125001, 1 + 2**-8 + 2**-40]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_a_number_is_rounded_as_where_it_is_converted(dtype, x64):
    """What is filled at once has the bits of what is converted and then repeated."""
    with jax.enable_x64(x64):
        x = jnp.ones(3, dtype)
        for number in NUMBERS:
            expected = np.asarray(lax.broadcast(lax.convert_element_type(number, x.dtype), (3,)))
            for found in (lax.full_like(x, number), lax.full((3,), number, x.dtype), jnp.full_like(x, number)):
                assert found.dtype == dtype
                np.testing.assert_array_equal(np.asarray(found).astype(np.complex64), expected.astype(np.complex64))
                is_number = ~np.isnan(expected)
                assert np.asarray(found)[is_number].tobytes() == expected[is_number].tobytes()
