"""Sets of concrete arrays, which NumPy finds, against those that sorting finds."""
import numpy as np
import pytest

from tinytrace import numpy as jnp


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int32, bool])
def test_distinct_elements_are_those_that_sorting_finds(dtype):
    values = np.array([0, 3, -0.0, np.nan, 1, -np.nan, 3, np.inf, 0], np.float32)
    for x in (values[:0], values, values[::-1], np.tile(values[4:], 2000), np.append(np.ones(5000), values)):
        x = np.nan_to_num(x, posinf=9).astype(dtype) if np.dtype(dtype).kind != "f" else x.astype(dtype)
        found, _ = jnp.unique(x, return_counts=True)
        got = np.asarray(jnp.unique(x))
        assert got.dtype == dtype
        assert got.tobytes() == np.asarray(found).tobytes()
