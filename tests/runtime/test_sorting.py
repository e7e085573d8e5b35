"""The host's sort of arrays of any length, without a program: what programs that sort give, bit by bit."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytrace import lax
from tinytrace._runtime import lib
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


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_zeros_are_in_their_order_or_by_their_sign(dtype):
    x = np.tile(np.array([1, 0.0, np.nan, -0.0, -1], dtype), 100)
    zeros, by_sign = sorted_values(x)[100:300], sorted_values(x, zeros_by_sign=True)[100:300]
    assert np.array_equal(np.signbit(zeros), [False, True] * 100)
    assert np.array_equal(np.signbit(by_sign), [True] * 100 + [False] * 100)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("values", [7, 1 << 31])
def test_ranges_are_gathered_alike_with_vectors_and_without(dtype, values):
    x = np.random.default_rng(0).integers(0, values, 300_003).astype(dtype)
    before, answers = num_threads(), set()
    for threads, is_wide in ((2, 1), (5, 1), (5, 0)):
        set_num_threads(threads)
        was = lib.tt_sort_set_wide(is_wide)
        answers.add(sorted_values(x).tobytes())
        lib.tt_sort_set_wide(was)
    set_num_threads(before)
    assert answers == {np.sort(x).tobytes()}


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("n", [300, 3000, 30_000])
def test_small_numbers_around_any_number(dtype, n):
    """Where keys differ in all bits their distances are sorted (csrc/radix.inc)."""
    info, rng = np.iinfo(dtype), np.random.default_rng(n)
    for middle in (info.max // 2 + 1, 0 if info.min else 1 << 20, info.max - 70, info.min + 70):
        for step in (1, 4):
            x = (rng.integers(-70 // step, 70 // step, n) * step).astype(dtype) + dtype(middle)
            assert sorted_values(x).tobytes() == np.sort(x).tobytes()
    x[n // 2] = info.max if x[0] < info.max // 2 else info.min  # what a look at some of them does not see
    assert sorted_values(x).tobytes() == np.sort(x).tobytes()


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int8])
def test_counted_elements_end_with_the_array(dtype):
    info = np.iinfo(dtype)
    for n in (161, 162, 20_481, 100_003):
        few = [[info.max], [info.min, info.max], [info.max - 1] * 9 + [info.max]]
        for values in (*few, range(info.min, info.max + 1)):
            x = np.random.default_rng(n).choice(np.array(values, dtype), n)
            assert sorted_values(x).tobytes() == np.sort(x).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_long_arrays_are_sorted_alike_by_any_number_of_threads(dtype):
    x = (np.random.default_rng(0).standard_normal(300_000) * 1000).astype(dtype)
    before, answers = num_threads(), set()
    for threads in (1, 2, 5):
        set_num_threads(threads)
        answers.add(sorted_values(x).tobytes())
    set_num_threads(before)
    assert answers == {np.sort(x, kind="stable").tobytes()}
