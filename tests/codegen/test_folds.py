"""Long folds: in pieces and blocks, running, over leading axes, around an estimate; their values and their accuracy."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import generated, same
from tinytrace.codegen.verifier import verify

LONG = 300_001
"""Elements that are worth several threads, and leave a piece that is not full."""


def values(*shape, dtype=np.float32, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape)
    return jnp.asarray((x * 50 if np.dtype(dtype).kind in "iu" else x).astype(dtype))


def checked(function, *args):
    """Returns the compiled results, after a look at the kernels."""
    verify(generated(function, *args).kernels)
    return jax.tree.leaves(jax.jit(function)(*args))


# --- running folds -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 1000, LONG])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_of_any_length(n, reverse):
    x = values(n)
    got, = checked(lambda x: jax.lax.cumsum(x, reverse=reverse), x)
    exact = np.asarray(x, np.float64)[::-1 if reverse else 1].cumsum()[::-1 if reverse else 1]
    np.testing.assert_allclose(np.asarray(got), exact, 1e-6, 2e-3)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "float16", "float32"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_running_folds_of_every_type(name, dtype):
    fold = getattr(jax.lax, name)
    x = values(6, 333, dtype=dtype)
    for axis in (0, 1):
        same(lambda x, axis=axis: fold(x, axis), x, tolerance=1e-2 if dtype == "float16" else 1e-4)


@pytest.mark.parametrize("name", ["cumsum", "cummax", "cummin"])
def test_running_folds_in_pieces(name):
    x = values(LONG, dtype=np.int32)
    same(lambda x: getattr(jax.lax, name)(x), x)


def test_running_folds_keep_nan():
    x = np.asarray(values(LONG)).copy()
    x[200_000] = np.nan
    for fold in (jax.lax.cumsum, jax.lax.cummax):
        got = np.isnan(np.asarray(jax.jit(lambda x, fold=fold: fold(x))(x)))
        assert got[200_000:].all()
        assert not got[:200_000].any()


def test_a_running_sum_of_what_is_computed_and_of_what_is_padded():
    x = values(LONG)
    same(lambda x: jnp.cumsum(jnp.exp(x)), x, tolerance=1e-4)
    same(lambda x: jnp.cumsum(jnp.pad(x, (3, 4))) * 2, values(100), tolerance=1e-4)


# --- accuracy ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape", [(1_000_000,), (2, 1_000_000), (100_003,), (3, 9000)])
def test_long_sums_lose_few_digits(shape):
    x = jnp.asarray(np.random.default_rng(0).random(shape, np.float32))
    got, = checked(lambda x: x.sum(-1), x)
    exact = np.asarray(x, np.float64).sum(-1)
    np.testing.assert_array_less(abs(np.asarray(got) - exact) / exact, 3e-7)


def test_blocks_of_several_folds_at_once():
    x = values(2, 20_001)

    def f(x):
        e = jnp.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True), x.min(1), (x * 2).sum(1)

    same(f, x, tolerance=1e-4)
