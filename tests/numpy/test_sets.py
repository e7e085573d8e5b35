"""Sets of concrete arrays, found by hashing or by the host's sort, against those that compiled programs find."""
import numpy as np
import pytest

import tinytrace as jax
from tinytrace import numpy as jnp
from tinytrace.numpy.concrete_sets import MANY, MANY_PAIRS


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int32, bool])
def test_distinct_elements_are_those_that_sorting_finds(dtype):
    values = np.array([0, 3, -0.0, np.nan, 1, -np.nan, 3, np.inf, 0], np.float32)
    for x in (values[:0], values, values[::-1], np.tile(values[4:], 2000), np.append(np.ones(5000), values),
              np.append(np.ones(MANY), values), np.tile(values, MANY)):
        x = np.nan_to_num(x, posinf=9).astype(dtype) if np.dtype(dtype).kind != "f" else x.astype(dtype)
        found, _ = jnp.unique(x, return_counts=True)
        got = np.asarray(jnp.unique(x))
        assert got.dtype == dtype
        assert got.tobytes() == np.asarray(found).tobytes()


@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("int32", "float32"), ("uint8", "uint8"), ("bool", "bool")])
@pytest.mark.parametrize("invert", [False, True])
def test_many_elements_are_found_as_few_are(dtypes, invert):
    """By sorting outside of traces, by comparing all with all inside."""
    rng = np.random.default_rng(0)
    a, b = ((rng.standard_normal(shape) * 50).round(1).astype(dtype)
            for shape, dtype in zip([(1100, 2), 2000], dtypes, strict=True))
    if dtypes[0] == "float32":
        a[0], b[0], a[1], b[1] = np.nan, np.nan, 0.0, -0.0
    assert a.size * b.size > MANY_PAIRS
    found = jnp.isin(a, b, invert=invert)
    compared = jax.jit(lambda a, b: jnp.isin(a, b, invert=invert))(a, b)
    assert found.aval == compared.aval
    np.testing.assert_array_equal(found, compared)
