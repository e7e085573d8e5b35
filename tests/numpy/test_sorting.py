"""Partitions of long lines, whose sides are not sorted, against what they are."""
import numpy as np
import pytest

import tinytrace as jax
from tinytrace import numpy as jnp
from tinytrace.numpy.sorting import LONG


@pytest.mark.parametrize("kth", [0, 7, LONG // 2, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8])
def test_a_partition_of_a_long_line_has_the_same_sides_as_a_sorted_one(dtype, kth):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((2, LONG)) * 30).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[:, :4] = np.inf, -np.inf, 0.0, -0.0
        x[0, 9] = np.nan
    for axis, array in ((-1, x), (0, x.T)):
        values, places = jnp.partition(array, kth, axis=axis), jnp.argpartition(array, kth, axis=axis)
        taken = np.take_along_axis(array, np.asarray(places), axis)
        for found in (np.asarray(values), taken):
            lines, wanted = np.moveaxis(found, axis, -1), np.sort(np.moveaxis(array, axis, -1), -1)
            at = kth % LONG
            np.testing.assert_array_equal(lines[:, at], wanted[:, at])
            np.testing.assert_array_equal(np.sort(lines[:, :at], -1), wanted[:, :at])
            np.testing.assert_array_equal(np.sort(lines[:, at:], -1), wanted[:, at:])


def test_a_partition_of_a_short_line_is_sorted_as_jax_has_it():
    assert jnp.partition(jnp.array([6, 8, 4, 3, 1, 9, 7, 5, 2, 3]), 4).tolist() == [1, 2, 3, 3, 4, 9, 8, 7, 6, 5]


def test_a_mapped_partition_is_that_of_each_line():
    x = np.random.default_rng(0).standard_normal((3, LONG)).astype(np.float32)
    for function in (jnp.partition, jnp.argpartition):
        mapped = jax.jit(jax.vmap(lambda row, function=function: function(row, 99)))(x)
        np.testing.assert_array_equal(mapped, [function(row, 99) for row in x])
