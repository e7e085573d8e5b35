"""What integers and bools become in functions of floats and of numbers, with 64-bit types."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp


@pytest.mark.parametrize(("dtype", "expected"), [
    ("bool", "float32"), ("int8", "float32"), ("uint16", "float32"), ("int32", "float32"), ("uint32", "float32"),
    ("int64", "float64"), ("uint64", "float64"), ("float16", "float16"), ("float32", "float32"), ("float64", "float64"),
])  # fmt: skip
def test_only_64_bits_become_64_bits(dtype, expected):
    with jax.enable_x64(True):
        x = jnp.ones(3, dtype)
        for function in (jnp.sin, jnp.mean, jnp.var, lambda x: x / x, lambda x: jnp.linspace(x[0], x[1], 3)):
            assert function(x).dtype == expected
        assert jnp.sin(1).dtype == "float64"


def test_bools_become_numbers_of_32_bits():
    with jax.enable_x64(True):
        x = jnp.ones(3, bool)
        assert {str(f(x).dtype) for f in (jnp.square, lambda x: x % x, lambda x: x // x, lambda x: x**2)} == {"int32"}
        assert x.sum().dtype == "int64"


@pytest.mark.parametrize("made", [np.float32([1]), np.int32([1]), np.float64([1])], ids=lambda x: x.dtype.name)
def test_asarray_converts_numpy_arrays_to_float64(made):
    """NumPy says that the dtype float64 equals None."""
    with jax.enable_x64(True):
        assert jnp.asarray(made, np.float64).dtype == np.float64
        assert jnp.asarray(made).dtype == made.dtype
