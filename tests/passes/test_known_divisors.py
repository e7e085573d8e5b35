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


NUMBERS = [1, 3, 0.7, 1e-39, 3e38, -2, 0, np.inf, np.nan, complex(3, -0.0), 3 + 1j]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_known_and_unknown_divisors_divide_alike(dtype):
    """Each divisor has operands of its own, and so a loop of its own, in one program."""
    x, real = operands(dtype), dtype(0).real.dtype
    with jax.enable_x64(dtype == np.complex128):
        by_known = jax.jit(lambda xs: [x / dtype(number) for x, number in zip(xs, NUMBERS, strict=True)])
        by_unknown = jax.jit(jnp.divide)
        for number, known in zip(NUMBERS, map(np.asarray, by_known([x] * len(NUMBERS))), strict=True):
            unknown = np.asarray(by_unknown(x, jnp.full(x.shape, number, dtype)))
            for got, want in zip(known.view(real), unknown.view(real), strict=True):
                assert (np.isnan(got) and np.isnan(want)) or got.tobytes() == want.tobytes(), number


def test_they_take_few_steps():
    def steps(number):
        return len(jax.jit(lambda x: x / number).lower(np.ones(9, np.complex64)).jaxpr.eqns)

    assert 2 * steps(3) < min(steps(3j), steps(-3))
