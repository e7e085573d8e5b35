"""Initializers of complex numbers draw JAX's."""

import numpy as np
import pytest

from tinytrace import nn, random

OF_JAX = {
    "truncated_normal": [0.60723746 + 0.29697904j, 0.55595976 + 0.07139435j, 0.61488116 + 0.3239906j],
    "uniform": [0.6247146 + 0.30552655j, 0.61993164 + 0.07960938j, 0.6237252 + 0.32865065j],
    "normal": [0.24455144 - 0.5953051j, 0.08867741 - 0.8357022j, 0.26969004 - 0.5814624j],
}


@pytest.mark.parametrize("distribution", OF_JAX)
def test_complex_numbers(distribution):
    draw = nn.initializers.variance_scaling(1.0, "fan_in", distribution)
    few = np.asarray(draw(random.PRNGKey(0), (3, 2), "complex64")).ravel()[:3]
    np.testing.assert_allclose(few, OF_JAX[distribution], rtol=1e-5)
    many = np.asarray(draw(random.PRNGKey(1), (100, 100), "complex64"))
    assert np.var(many) == pytest.approx(1 / 100, rel=0.05)
    assert abs(many.mean()) < 5e-3
