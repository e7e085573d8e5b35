"""Remainders of numbers in a program's text are those of the C library, to the bit and the sign of zero."""

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import lax
from tinytrace.config import config

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 2.5, -1e-300, 1e300, 2.0**64, -(2.0**127)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("divisor", [1.0, 2.0, 8.0, 2.0**64, 3.0, 0.5, 2.0**70, -2.0, np.inf, 0.0])
def test_remainders_of_written_numbers(dtype, divisor):
    bits = np.dtype(dtype).itemsize * 8
    words = np.random.default_rng(0).integers(0, 2**bits, 20_000, f"uint{bits}", endpoint=False)
    old = config.enable_x64
    config.update("enable_x64", True)
    try:
        with np.errstate(all="ignore"):
            x = np.concatenate([words.view(dtype), np.array(SPECIAL).astype(dtype)])
            expected = np.fmod(x, dtype(divisor))
        found = np.asarray(jax.jit(lambda x: lax.rem(x, dtype(divisor)))(x))
    finally:
        config.update("enable_x64", old)
    np.testing.assert_array_equal(found, expected)
    numbers = expected == expected
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))
