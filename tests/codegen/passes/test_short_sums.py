"""Sums of truth values and of bytes: what blocks hold at most, and every length around them."""
import re

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import numpy as jnp
from tinytrace.codegen.passes import short_sums
from tinytrace.config import enable_x64

EXTREMES = {"bool": [1], "int8": [-128, 127], "uint8": [255]}


def text_of(function, *shape, dtype=np.bool_):
    return jax.jit(function).lower(jax.ShapeDtypeStruct(shape, dtype)).as_text()


@pytest.mark.parametrize("dtype", EXTREMES)
def test_blocks_of_the_greatest_numbers_have_room(dtype):
    lengths = [1, 31, 32, 100, 127, 128, 129, 255, 256, 257, 385, 1000, 100_003]
    totals = jax.jit(lambda lines: [jnp.sum(line) for line in lines])
    for number in EXTREMES[dtype]:
        assert list(map(int, totals([np.full(n, number, dtype) for n in lengths]))) == [number * n for n in lengths]


@pytest.mark.pairs
@pytest.mark.parametrize("dtype", [*EXTREMES, "int16"])
@pytest.mark.parametrize("shape", [(7, 100), (7, 500), (3, 4, 2100), (2, 300_000)])
@pytest.mark.parametrize("axis", [0, -1, None])
def test_along_rows_and_columns(dtype, shape, axis):
    x = np.random.default_rng(0).integers(-100, 100, shape).astype(dtype)
    np.testing.assert_array_equal(jax.jit(jnp.count_nonzero, static_argnums=1)(x, axis), np.count_nonzero(x, axis))
    np.testing.assert_array_equal(jax.jit(jnp.sum, static_argnums=1)(x, axis), x.sum(axis, np.int32))


@pytest.mark.parametrize("kind", ["int32", "uint32", "int64"])
def test_of_other_types(kind):
    with enable_x64(True):
        x = np.random.default_rng(0).integers(-100, 100, 3000).astype(np.int8)
        assert jax.jit(lambda x: x.sum(dtype=kind))(x) == x.astype(kind).sum(dtype=kind)


def test_conversions_on_the_way_count():
    with enable_x64(True):
        x = np.full(300, -1, np.int8)
        assert jax.jit(lambda x: x.astype(np.uint32).astype(np.int64).sum())(x) == 300 * (2 ** 32 - 1)
        assert jax.jit(lambda x: x.astype(np.int16).astype(np.int64).sum())(x) == -300
        assert jax.jit(lambda x: x.astype(np.uint8).astype(np.int64).sum())(x) == 300 * 255
        assert jax.jit(lambda x: x.astype(np.float16).astype(np.int64).sum())(x) == -300


@pytest.mark.parametrize(("dtype", "short", "block"), [("bool", "uint8", 128), ("int8", "int16", 256),
                                                       ("uint8", "uint16", 256)])
def test_blocks_are_added_up_in_short_integers(dtype, short, block):
    text = text_of(jnp.sum, 5000, dtype=dtype)
    assert re.search(rf"{short}_t \w+_short = .*\n.*\n *for \(int64_t i0 = 0; i0 < {block};", text)


@pytest.mark.parametrize("dtype", EXTREMES)
def test_sums_of_floats_that_were_bytes_are_the_same(dtype):
    lines = [np.full(n, number, dtype) for n in (31, 32, 300, 2048, 60_003) for number in EXTREMES[dtype]]
    means = jax.jit(lambda lines: [jnp.mean(line) for line in lines])(lines)
    assert list(map(float, means)) == [float(line[0]) for line in lines]
    rows = np.random.default_rng(0).integers(0, 90, (5, 700)).astype(dtype)
    for kind in (np.float32, np.float16):
        np.testing.assert_array_equal(jax.jit(lambda x, kind=kind: jnp.sum(x, 1, dtype=kind))(rows),
                                      rows.sum(1, np.int32).astype(kind))
    assert "_short" in text_of(jnp.mean, 5000, dtype=dtype)


def test_a_float_holds_so_many_sums(monkeypatch):
    monkeypatch.setattr(short_sums, "LARGEST", 1 << 16)
    assert "_short" in text_of(lambda x: jnp.mean(x[:256]), 5000, dtype=np.int8)
    assert "_short" not in text_of(lambda x: jnp.mean(x[:260]), 5000, dtype=np.int8)


@pytest.mark.parametrize(("function", "dtype"), [
    (jnp.sum, np.int16), (jnp.mean, np.int16), (lambda x: x[:31].sum(), np.bool_), (jnp.max, np.int8),
    (lambda x: jnp.sum(x, dtype=np.int8), np.int8),
], ids=["wide", "a mean", "short", "extremes", "as narrow"])
def test_other_loops_stay(function, dtype):
    assert "_short" not in text_of(function, 5000, dtype=dtype)
