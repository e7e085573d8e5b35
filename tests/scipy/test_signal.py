"""jax.scipy.signal: the jaxprs, values, gradients and errors of JAX 0.4.35."""

import functools

import numpy as np
import pytest

import tinytrace.numpy as jnp
from tests import goldens
from tinytrace.scipy import signal

FILES = {name: goldens.load(name) for name in ("signal", "spectra")}


@functools.cache
def scene(name):
    return goldens.set_scene(goldens.as_tinytrace(FILES[name][0]))


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, (_, cases) in FILES.items() for case in cases], ids=lambda x: str(x)[:60]
)
def test_answers_of_jax(name, case):
    got = goldens.answer(case.program, dict(scene(name)))
    assert goldens.differences(got, case.answer, 4e-6) == []


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
