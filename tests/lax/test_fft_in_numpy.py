"""Transforms by axes and by threads: NumPy's of several axes, whoever takes which line."""
from __future__ import annotations

import numpy as np
import pytest

from tinytrace.lax.fft_in_numpy import WORTH_SPREADING, transform
from tinytrace.runtime.threads import num_threads, set_num_threads


@pytest.mark.parametrize("shape", [(1000,), (200, 316), (30, 40, 50), (3, 200, 100), (70_000,)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_are_those_of_numpy_for_any_number_of_threads(shape, dtype):
    rng = np.random.default_rng(0)
    real = rng.standard_normal(shape).astype(dtype)
    numbers = real + 1j * rng.standard_normal(shape).astype(dtype)
    half = numbers[..., :shape[-1] // 2 + 1]
    before = num_threads()
    for count in range(1, len(shape) + 1):
        lengths, axes = shape[-count:], tuple(range(-count, 0))
        for name, x in (("fft", real + 0j), ("fft", numbers), ("ifft", numbers), ("rfft", real), ("irfft", half)):
            expected = getattr(np.fft, f"{name}n")(x, lengths, axes)
            found = {}
            try:
                for threads in (1, 2, 5):
                    set_num_threads(threads)
                    found[threads] = transform(name, x, lengths)
            finally:
                set_num_threads(before)
            assert found[1].dtype == expected.dtype
            assert np.abs(found[1] - expected).max() <= np.finfo(dtype).eps * 8 * np.abs(expected).max()
            assert found[1].tobytes() == found[2].tobytes() == found[5].tobytes()


def test_a_thread_that_fails_is_heard():
    x = np.zeros((8, WORTH_SPREADING), np.complex64)
    before = num_threads()
    set_num_threads(2)
    try:
        with pytest.raises(ValueError, match="Invalid number of FFT data points"):
            transform("fft", x + 1j, (0,))
    finally:
        set_num_threads(before)
