"""Updates at computed places stay in their array and give what NumPy gives, however few rows and columns there are."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tinytrace import lax

SHAPES = [(1,), (3,), (1, 4), (2, 4), (3, 1), (1, 2, 3)]


def test_updates_of_the_only_row_stay_in_it():
    x, y = np.zeros((1, 4), np.float32), np.ones((2000, 4), np.float32)
    i = np.arange(2000, dtype=np.int32) - 1000
    added = jax.jit(lambda x, i, y: x.at[i].add(y, mode="clip"))(x, i, y)
    np.testing.assert_array_equal(added, x + 2000)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_updates_of_rows(shape):
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, shape).astype(np.float32)
    for places, (method, mode) in itertools.product([(), (3,), (2, 3), (70,)], [("add", "clip"), ("max", "drop")]):
        y = rng.integers(0, 3, (*places, *shape[1:])).astype(np.float32)
        i = rng.integers(-3, 4, places).astype(np.int32)
        checked(lambda x, i, y: getattr(x.at[i], method)(y, mode=mode), x, i, y, inputs=[x, i, y])  # noqa: B023


@pytest.mark.slow
@given(st.sampled_from(SHAPES), st.data())
def test_updates_of_blocks(shape, data):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    block = -np.ones([data.draw(st.integers(1, size)) for size in shape], np.float32)
    at = np.int32([data.draw(st.integers(-2, 3)) for _ in shape])
    checked(lambda x, y, at: lax.dynamic_update_slice(jnp.sin(x), y, list(at)), x, block, at, inputs=[x, block, at])


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow),
                                   pytest.param("float16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", ["min", "max"])
@pytest.mark.parametrize("nans", ["nowhere", "there", "in updates"])
def test_extremes_are_those_of_numpy(dtype, method, nans):
    """A strip takes in numbers, then NaNs: of updates out of bounds neither, and a NaN that is there stays."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=50).astype(dtype), rng.normal(size=1500).astype(dtype)
    if nans == "there":
        x[::7] = np.nan
    if nans == "in updates":
        y[rng.integers(0, 700, 40)] = np.nan  # in one of the strips, more than one of an element
    i = rng.integers(-60, 60, 1500).astype(np.int32)
    wanted, inside = x.copy(), (i >= -50) & (i < 50)
    with np.errstate(invalid="ignore"):
        {"min": np.minimum, "max": np.maximum}[method].at(wanted, i[inside], y[inside])
    with jax.enable_x64(dtype == "float64"):
        np.testing.assert_array_equal(jax.jit(lambda x, i, y: getattr(x.at[i], method)(y))(x, i, y), wanted)
        computed = jax.jit(lambda x, i, y: getattr(x.at[i], method)(-y))(x, i, -y)
    np.testing.assert_array_equal(computed, wanted)


def test_extremes_are_checked_after_every_pass():
    x, y = np.float32([1, np.nan, 3]), np.linspace(-2, 2, 1100, dtype=np.float32)
    i = np.arange(1100, dtype=np.int32) % 4
    for method in ("min", "max"):
        checked(lambda x, i, y: getattr(x.at[i], method)(jnp.where(y > 1.9, jnp.nan, y * 2)), x, i, y,  # noqa: B023
                inputs=[x, i, y])
