"""A table says of every element what comparing it with all others says, whatever the bits are."""
import numpy as np
import pytest

import tinytrace as jax
from tinytrace.core.dtypes import BFLOAT16
from tinytrace.primitives.membership import is_member_p
from tinytrace.runtime.threads import num_threads, set_num_threads

DTYPES = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.float16, BFLOAT16, np.int32, np.uint32, np.float32,
          np.int64, np.float64, np.complex64, np.complex128]


def elements(dtype, shape, few, seed=0):
    """Return any bits there are, some of them often; both zeros, infinity and NaN, and what is all ones."""
    draw, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "b":
        return draw.random(shape) < 0.5
    bits = draw.integers(0, 256, (few, dtype.itemsize), np.uint8).view(dtype)[:, 0]
    if dtype.kind not in "iu":
        bits[:4] = np.array([0.0, -0.0, np.inf, np.nan]).astype(dtype)
    if dtype.kind == "c":
        bits[4:8] = [complex(0.0, -0.0), complex(-0.0, 1), complex(0.0, 1), complex(np.nan, 1)]
    bits[8:9].view(np.uint8)[:] = 255
    return bits[draw.integers(0, few, shape)]


def look(x, y, batch_dims=0):
    return np.asarray(jax.jit(lambda x, y: is_member_p.bind(x, y, batch_dims=batch_dims))(x, y))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_as_comparing_all_pairs(dtype):
    """One program looks for all of them: to compile a dozen takes a hundred times as long as to look."""
    lists = []
    for n, m, few in ((70, 1, 9), (1, 70, 20), (130, 129, 300), (1000, 900, 2000), (500, 0, 20), (0, 5, 20)):
        x, y = elements(dtype, (n,), few), elements(dtype, (m,), few, seed=1)
        y[: m // 2] = x[: m // 2][: n] if n >= m // 2 else y[: m // 2]
        ones = np.full(np.dtype(dtype).itemsize, 255, np.uint8).view(dtype)
        lists += [(x, y), (x, y if dtype is np.bool_ else np.append(y, ones))]
    with jax.enable_x64():
        found = jax.jit(lambda lists: [is_member_p.bind(x, y, batch_dims=0) for x, y in lists])(lists)
        for (x, y), members in zip(lists, found, strict=True):
            np.testing.assert_array_equal(members, (x[:, None] == y).any(1), err_msg=f"{x.size} {y.size}")
        x, y = elements(dtype, (3, 2, 50), 40), elements(dtype, (3, 60), 40, seed=2)
        np.testing.assert_array_equal(look(x, y, 1), (x[..., None] == y[:, None, None]).any(-1))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, np.complex64])
def test_numbers_in_a_row_and_powers(dtype):
    """Keys of which only high bits, or only low ones, are different; buckets that are full."""
    with jax.enable_x64():
        for y in (np.arange(5000), np.arange(5000) * 4096, 2 ** np.arange(31), np.arange(3000) // 7):
            y = y.astype(dtype)
            x = np.concatenate([y[::2], y[:100] + np.ones((), dtype), y[-5:] * np.array(3, dtype)])
            np.testing.assert_array_equal(look(x, y), np.isin(x, y))


def test_the_number_of_threads_is_not_seen():
    x, y = (elements(np.float32, (40_000,), 50_000, seed) for seed in (0, 1))
    before, found = num_threads(), []
    for count in (1, 2, 5):
        set_num_threads(count)
        found.append(look(x, y))
    set_num_threads(before)
    np.testing.assert_array_equal(found[0], np.isin(x, y))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
