"""Tests of the lowest bit among other conditions: what they give, and that they are written for vectors."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.config import enable_x64

TESTS = [lambda x: x & 1 == 0, lambda x: x & 1 != 0, lambda x: x & 1 == 1, lambda x: x & 1 != 1,
         lambda x: (x & 1).astype(bool), lambda x: (x & 1 == 0) == False, lambda x: ~(x % 2 == 1)]  # noqa: E712


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_odd_numbers_are_told_from_even_ones_among_other_conditions(dtype):
    with enable_x64(True):
        limits = np.iinfo(dtype)
        ends = np.array([limits.min, limits.max, limits.max - 1], dtype)
        x = np.concatenate([np.arange(-300, 300).astype(dtype), ends])
        y = np.random.default_rng(0).standard_normal(x.size).astype(np.float32)

        def chosen(x, y):
            return [jnp.where(test(x) & (y > 0), -y, y) for test in TESTS]

        for found, test in zip(jax.jit(chosen)(x, y), TESTS, strict=True):
            np.testing.assert_array_equal(found, np.where(test(x) & (y > 0), -y, y))


def test_which_tests_are_written_so():
    def text(function, size=1000):
        return jax.jit(lambda x, y: jnp.where(function(x) & (y > 0), y, 0)).lower(
            np.ones(size, np.int32), np.ones(size, np.float32)).as_text()

    assert "<< 31)) >= 0" in text(lambda x: x & 1 == 0)
    assert "<< 31)) < 0" in text(lambda x: x & 1 == 1)
    for other in (lambda x: x & 2 == 0, lambda x: x & 1 == 2, lambda x: x & 1 < 1, lambda x: x == 1):
        assert "<< 31" not in text(other)
    assert "<< 31" not in jax.jit(lambda x: x & 1 == 0).lower(np.int32(1)).as_text()
