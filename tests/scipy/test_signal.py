"""jax.scipy.signal, besides the answers of JAX: what it reads and what it refuses."""

import numpy as np
import pytest

import tinytrace.numpy as jnp
from tinytrace.scipy import signal


def test_what_is_no_array_is_refused_by_name():
    for function in (signal.convolve, signal.correlate):
        with pytest.raises(TypeError, match=f"{function.__name__} requires ndarray or scalar arguments, got <class"):
            function([1.0], [2.0])


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_strided_views_are_read_as_they_are(mode):
    x, y = np.arange(12, dtype=np.float32)[::-2], np.arange(3, dtype=np.float32)[::-1]
    expected = np.convolve(x, y, mode)
    assert np.array_equal(signal.convolve(x, y, mode), expected)
    assert np.allclose(signal.fftconvolve(jnp.asarray(x), y, mode), expected, atol=1e-4)
