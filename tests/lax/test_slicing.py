"""Shapes and positions: `lax.slice_in_dim`, whose bounds are those of Python's slices, and its neighbours."""

import itertools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.primitives.slicing import window_in_dim


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_bounds_count_from_either_end(stride):
    bounds = [None, *range(-4, 5)]
    for start, limit in itertools.product(bounds, bounds):
        window = window_in_dim(np.zeros((2, 4, 3)), start, limit, stride, 1)
        expected = slice(start, limit, stride).indices(4)
        assert (window["start_indices"], window["limit_indices"], window["strides"]) == \
            tuple((first, at, last) for first, at, last in zip((0, 2, 1), expected, (0, 3, 1), strict=True))


def test_index_take_reads_modulo_the_size():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    i, j = np.int32([0, 1, -1]), np.int32([5, 1, 2])
    np.testing.assert_array_equal(lax.index_take(x, (i, j), (0, 2)), x[i % 2, :, j % 4])
    np.testing.assert_array_equal(lax.index_take(x, [i], [0]), x[i % 2])
    gradient = jax.grad(lambda x: lax.index_take(x, (i, j), (0, 2)).sum())(x)
    expected = np.zeros_like(x)
    np.add.at(expected, (i % 2, slice(None), j % 4), 1)
    np.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize(("shapes", "message"), [
    ([(-1,)], r"Only non-negative indices .* but got shape \(-1,\)"),
    (["hello"], "Shapes must be 1D sequences of concrete values of integer type, got hello"),
    ([(2.0,), (2,)], r"Shapes must be 1D sequences of concrete values of integer type, got \(2.0,\)"),
])  # fmt: skip
def test_what_is_no_shape_is_not_broadcast(shapes, message):
    with pytest.raises(TypeError, match=message):
        lax.broadcast_shapes(*shapes)


@pytest.mark.parametrize("jit", [False, True])
def test_unsigned_places_are_never_negative(jit):
    """Nor those beyond what a signed number holds: such lie behind the end."""
    with jax.experimental.enable_x64():
        places = np.uint64([0, 3, 7, 2**63 - 1, 2**63, 2**64 - 1])
        take = (jax.jit if jit else lambda f: f)(lambda x, i: jnp.take(x, i, mode="clip"))
        np.testing.assert_array_equal(take(np.arange(5.0), places), [0, 3, 4, 4, 4, 4])
