"""Positions that come from elements of 32 bits are clamped in 32 bits; all others in 64, with the same results."""
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import same
from tinytrace import lax

TABLE = np.random.default_rng(0).standard_normal(65).astype(np.float32)
PLACES = [0, 1, 63, 64, 65, 66, 100]


def places(dtype):
    ends = np.iinfo(dtype)
    return np.array([*PLACES, ends.min, ends.max, ends.max - 1] * 9, dtype)


def taken(x, i):
    return 2 * x.at[i].get(mode="clip")


def window(x, i):
    return jnp.sum(lax.dynamic_slice(x, (i[3],), (60,)) * lax.dynamic_slice(x, (i[-1],), (60,)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64])
def test_any_position_is_clamped(dtype):
    with jax.enable_x64():
        same(lambda x, i: (taken(x, i), window(x, i)), TABLE, places(dtype))
        same(lambda x, i: (jax.vmap(taken, (0, None))(x, i), jax.vmap(window, (0, None))(x, i)),
             np.stack([TABLE, -TABLE]), places(dtype))


def test_what_is_beyond_all_positions_is_the_last_one():
    with jax.enable_x64():
        same(window, TABLE, places(np.uint64))


@pytest.mark.parametrize(("dtype", "is_word"),
                         [(np.int8, True), (np.uint16, True), (np.int32, True), (np.uint32, False), (np.int64, False)])
def test_what_fits_is_clamped_in_words(dtype, is_word):
    with jax.enable_x64():
        text = jax.jit(window).lower(TABLE, places(dtype)).compile().as_text()
    assert bool(re.search(r"\(int64_t\)tt_(min|max)_i32\(", text)) == is_word, text


def test_rows_behind_a_clamped_one_have_addresses_of_64_bits():
    rows = np.random.default_rng(1).standard_normal((65, 300)).astype(np.float32)
    same(taken, rows, places(np.int32))
    text = jax.jit(taken).lower(rows, places(np.int32)).compile().as_text()
    index, = re.findall(r"const int64_t (\w+) = \(int64_t\)tt_min_i32\(", text)
    assert f"300 * {index}]" in text, text
