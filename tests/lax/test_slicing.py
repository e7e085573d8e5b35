"""lax.slice_in_dim: bounds count as those of Python's slices do."""

import itertools

import numpy as np
import pytest

from tinytrace.primitives.slicing import window_in_dim


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_bounds_count_from_either_end(stride):
    bounds = [None, *range(-4, 5)]
    for start, limit in itertools.product(bounds, bounds):
        window = window_in_dim(np.zeros((2, 4, 3)), start, limit, stride, 1)
        expected = slice(start, limit, stride).indices(4)
        assert (window["start_indices"], window["limit_indices"], window["strides"]) == \
            tuple((first, at, last) for first, at, last in zip((0, 2, 1), expected, (0, 3, 1), strict=True))
