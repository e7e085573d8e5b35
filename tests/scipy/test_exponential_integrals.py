"""Exponential integrals: values by SciPy 1.14, special values, derivatives."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.scipy.special import exp1, expi, expn

EXPI = {-50: -3.783264029550459e-24, -1: -0.2193839343955205, -1e-05: -10.935719800043694, 0.1: -1.6228128139692766,
        1: 1.895117816355937, 5: 40.18527535580317, 20: 25615652.664056595, 39: 2280446200301900.5,
        60: 1.9361822139292765e+24, 80: 7.014600004904797e+32}
EXPN = {(0, 2): 0.06766764161830635, (1, 0.5): 0.5597735947761608, (1, 1): 0.21938393439552029,
        (2, 1): 0.14849550677592205}


@pytest.mark.not_quick
def test_values():
    with jax.enable_x64(True):
        found = expi(jnp.array(list(map(float, EXPI))))
        np.testing.assert_allclose(found, list(EXPI.values()), rtol=1e-12)
    for dtype, rtol in ((np.float32, 1e-6), (np.float64, 1e-13)):
        with jax.enable_x64(dtype is np.float64):
            for n, x in [(1, 0.3), (1, 1.0), (2, 1.0), (4, 1.0), (3, 7.0), (12, 2.0)]:
                x = jnp.array(x, dtype)  # n E_{n+1}(x) = exp(-x) - x E_n(x)
                np.testing.assert_allclose(n * expn(n + 1, x) + x * expn(n, x), np.exp(-x), rtol=10 * rtol)
            for (n, x), value in EXPN.items():
                np.testing.assert_allclose(expn(n, jnp.array(x, dtype)), value, rtol=rtol)


def test_special_values():
    x = jnp.array([-1.0, 0.0, jnp.inf, jnp.nan])
    np.testing.assert_array_equal(exp1(x), [np.nan, np.inf, 0, np.nan])
    np.testing.assert_array_equal(expn(3, x), [np.nan, 0.5, 0, np.nan])
    np.testing.assert_array_equal(expi(jnp.array([0.0, jnp.inf, -jnp.inf, jnp.nan])), [-np.inf, np.inf, 0, np.nan])
    assert np.isnan(expn(-1, 1.0))


@pytest.mark.not_quick
def test_derivatives():
    for x in (0.3, 1.0, 4.0):
        assert float(jax.grad(exp1)(x)) == pytest.approx(-np.exp(-x) / x, rel=1e-6)
        assert float(jax.grad(expi)(x)) == pytest.approx(np.exp(x) / x, rel=1e-6)
        assert float(jax.jit(jax.grad(lambda x: expn(4, x)))(x)) == pytest.approx(-float(expn(3, x)), rel=1e-6)
    assert jax.vmap(expn, (0, None))(jnp.array([1, 2]), 1.0).shape == (2,)
