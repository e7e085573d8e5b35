"""The place of an extreme of narrow elements is searched in blocks: the first of equals, wherever it lies."""
import re

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import numpy as jnp
from tinytrace.config import enable_x64

NARROW = ["bool", "int8", "uint8", "int16", "uint16"]
EXTREME = {jnp.argmin: 0, jnp.argmax: 1}


def text_of(function, *shape, dtype=np.int8):
    return jax.jit(function).lower(jax.ShapeDtypeStruct(shape, dtype)).as_text()


@pytest.mark.pairs
@pytest.mark.parametrize("function", EXTREME)
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("n", [1, 15, 16, 191, 192, 193, 385, 480, 1024, 1025, 100_003])
def test_the_first_of_equals_is_found_wherever_it_lies(function, dtype, n):
    compiled, extreme = jax.jit(function), EXTREME[function]
    for place in sorted({0, n // 2, max(0, n // 192 * 192 - 1), n - 1}):
        x = np.full(n, 1 - extreme, dtype)
        assert compiled(x) == 0  # all are equal
        x[place:] = extreme
        assert compiled(x) == place


@pytest.mark.pairs
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("shape", [(7, 100), (7, 500), (3, 4, 2100), (2, 300_000)])
@pytest.mark.parametrize("axis", [0, -1])
def test_along_rows_and_columns(dtype, shape, axis):
    x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    np.testing.assert_array_equal(jax.jit(jnp.argmax, static_argnums=1)(x, axis), np.argmax(x, axis))


def test_what_is_computed_for_the_search_is_computed_in_it():
    x = np.random.default_rng(0).integers(-60, 60, 5000).astype(np.int8)
    assert jax.jit(lambda x: jnp.argmin(-x[1:] * 2))(x) == np.argmin(-x[1:] * 2)


def test_positions_of_64_bits():
    with enable_x64(True):
        x = np.arange(3000) % 120
        assert jax.jit(jnp.argmax)(x.astype(np.int8)) == 119
        assert "== 9223372036854775807" in text_of(jnp.argmax, 3000)


@pytest.mark.parametrize(("dtype", "block"), [(np.int8, 192), (np.uint16, 480)])
def test_positions_are_as_narrow_as_elements_and_end_where_one_is_found(dtype, block):
    text, narrow = text_of(jnp.argmin, 5000, dtype=dtype), f"uint{8 * np.dtype(dtype).itemsize}_t"
    assert re.search(rf"if .*== 2147483647\) {{\n *{narrow} b_near = .*\n.*\n *for \({narrow} i0_count = 0; "
                     rf"i0_count < {block};", text)


@pytest.mark.parametrize(("function", "dtype"), [
    (jnp.argmin, np.int32), (jnp.argmin, np.float16), (lambda x: jnp.argmin(x[:15]), np.int8),
    (lambda x: jnp.min(jnp.where(x == 3, jnp.arange(5000), 9000)), np.int8),
], ids=["wide", "float16", "short", "other positions"])
def test_other_loops_stay(function, dtype):
    assert "_near" not in text_of(function, 5000, dtype=dtype)
