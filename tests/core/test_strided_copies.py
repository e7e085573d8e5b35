"""Elements that do not lie in order are put in order before a compiled program reads them, however they lie."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tinytrace.experimental import enable_x64

DTYPES = [np.uint8, np.float16, np.float32, np.float64, np.complex128]
LAYOUTS = {
    "turned": lambda x: x.T,
    "turned from the end": lambda x: x[:, ::-1].T,
    "last rows first": lambda x: x[::-1].T,
    "backwards": lambda x: x[::-1, ::-1],
    "every other": lambda x: x[:, ::2],
    "every third, turned": lambda x: x[::3, 1:].T,
    "inner axes changed": lambda x: x.reshape(2, -1, x.shape[-1]).swapaxes(1, 2),
    **{f"{k} colours first": lambda x, k=k: flat(x, k).reshape(-1, k).T for k in (2, 3, 4, 5)},
    **{f"{k} colours last": lambda x, k=k: flat(x, k).reshape(k, -1).T for k in (2, 3, 4, 5)},
    "patches": lambda x: x[:, :x.shape[1] // 4 * 4].reshape(2, -1, x.shape[1] // 4, 4).transpose(0, 2, 1, 3),
    "repeated": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "rows repeated, turned": lambda x: np.broadcast_to(x[:1], x.shape).T,
}


def elements(shape, dtype):
    words = np.random.default_rng(7).integers(0, 200, shape)
    return words.astype(dtype)


def flat(x, multiple):
    return x.reshape(-1)[:x.size // multiple * multiple]


def read_in_order(x):
    """What a compiled program reads of a NumPy array."""
    assert not x.flags.c_contiguous
    return np.asarray(jax.jit(lambda x: x + x)(x)) - np.ascontiguousarray(x)


@pytest.mark.parametrize("shape", [(34, 67), (1030, 1031), (512, 1024), (10, 70_001)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_read_as_numpy_reads_it(layout, shape):
    with enable_x64():
        for dtype in DTYPES:
            x = LAYOUTS[layout](elements(shape, dtype))
            assert np.array_equal(read_in_order(x), x)


def test_records_whose_elements_are_not_a_multiple_of_their_size_apart():
    records = np.zeros((300, 700), np.dtype([("a", "u1"), ("b", "<f4")], align=False))
    records["b"] = elements(records.shape, np.float32)
    assert np.array_equal(read_in_order(records["b"].T), records["b"].T)


@examples(100)
@given(st.data())
def test_random_strides(data):
    shape = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    x = elements(shape, data.draw(st.sampled_from([np.int8, np.float16, np.float32])))
    x = x.transpose(data.draw(st.permutations(range(len(shape)))))
    x = x[tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1, -2]))) for _ in shape)]
    y = jnp.asarray(np.ascontiguousarray(x.T)).T
    assert np.array_equal(np.asarray(jax.jit(lambda x: x + 0)(x)), x)
    assert np.array_equal(np.asarray(jax.jit(lambda x: x + 0)(y)), x)
