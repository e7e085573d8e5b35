"""The host's sort of arrays of any length, without a program: what programs that sort give, bit by bit."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytrace import lax
from tinytrace.experimental import enable_x64
from tinytrace.runtime.sorting import sorted_values
from tinytrace.runtime.threads import num_threads, set_num_threads

DTYPES = [np.bool, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, np.float16,
          np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_sorted_as_by_programs(dtype):
    @given(st.integers(0, 2000), st.integers(0, 2**32 - 1), st.booleans())
    def law(n, seed, is_strided):
        raw = np.random.default_rng(seed).bytes(2 * n * np.dtype(dtype).itemsize)
        x = np.frombuffer(raw, np.uint8).view(dtype) if dtype != np.bool else np.frombuffer(raw, np.uint8) > 99
        x = x[::2] if is_strided else x[:n]
        with enable_x64():
            (expected,) = lax.sort_p.impl(x, dimension=0, is_stable=True, num_keys=1)
        assert sorted_values(x).tobytes() == expected.tobytes()

    law()


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_long_arrays_are_sorted_alike_by_any_number_of_threads(dtype):
    x = (np.random.default_rng(0).standard_normal(300_000) * 1000).astype(dtype)
    before, answers = num_threads(), set()
    for threads in (1, 2, 5):
        set_num_threads(threads)
        answers.add(sorted_values(x).tobytes())
    set_num_threads(before)
    assert answers == {np.sort(x, kind="stable").tobytes()}
