"""Divisions of complex numbers by a known number give what divisions by any number give, to the bit."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp

PARTS = [0.0, -0.0, 1.0, -2.5, 3e38, -1e-40, np.inf, -np.inf, np.nan]


def operands(dtype):
    a, b = np.meshgrid(np.array(PARTS), np.array(PARTS))
    parts = np.stack([a.ravel(), b.ravel()], -1).astype(np.float32 if dtype == np.complex64 else np.float64)
    return parts.view(dtype)[:, 0]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("number", [1, 3, 0.7, 1e-39, 3e38, -2, 0, np.inf, np.nan, complex(3, -0.0), 3 + 1j])
def test_known_and_unknown_divisors_divide_alike(dtype, number):
    x = operands(dtype)
    with jax.enable_x64(dtype == np.complex128):
        y = jnp.full(x.shape, number, dtype)
        known, unknown = np.asarray(jax.jit(lambda x: x / dtype(number))(x)), np.asarray(jax.jit(jnp.divide)(x, y))
    real = x.real.dtype
    for got, want in zip(known.view(real), unknown.view(real), strict=True):
        assert (np.isnan(got) and np.isnan(want)) or got.tobytes() == want.tobytes()


def test_they_take_few_steps():
    def steps(number):
        return len(jax.jit(lambda x: x / number).lower(np.ones(9, np.complex64)).jaxpr.eqns)

    assert 2 * steps(3) < min(steps(3j), steps(-3))
