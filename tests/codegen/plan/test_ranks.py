"""Extremes of two-byte floats in memory are those of integers in their order; bits in memory are read as they are."""
import itertools

import ml_dtypes
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_passes import checked
from tinytrace import lax

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype(np.float16), BFLOAT16]
EVERY = np.random.default_rng(0).permutation(np.arange(1 << 16, dtype=np.uint16))
SHAPES = [(1,), (33,), (4000,), (7, 100), (200, 9), (3, 5, 70), (60, 130)]


def of(dtype, shape, nan=False):
    """Random bits as numbers; without NaN, if it is not asked for."""
    x = EVERY[:int(np.prod(shape))].view(dtype).reshape(shape)
    return x if nan else np.where(np.isnan(x.astype(np.float32)), dtype.type(1), x)


def same(got, want):
    got, want = np.asarray(got).astype(np.float32), np.asarray(want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.pairs
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["numbers", "negative", "with nan", "infinite"])
def test_extremes_along_every_axis(dtype, shape, kind):
    x = of(dtype, shape, kind == "with nan")
    x = -np.abs(x) if kind == "negative" else np.where(x > 0, dtype.type(-np.inf), x) if kind == "infinite" else x
    axes = [a for k in range(1, len(shape) + 1) for a in itertools.combinations(range(len(shape)), k)]
    found = jax.jit(lambda x: [(jnp.max(x, a), jnp.min(x, a), jnp.ptp(x, a)) for a in axes])(x)
    wide = x.astype(np.float32)
    for a, (most, least, distance) in zip(axes, found, strict=True):
        same(most, wide.max(a))
        same(least, wide.min(a))
        with np.errstate(all="ignore"):
            same(distance, (wide.max(a) - wide.min(a)).astype(dtype).astype(np.float32))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_nan_is_found_whatever_its_sign_and_bits(dtype):
    bits = EVERY[np.isnan(EVERY.view(dtype).astype(np.float32))]
    here = np.arange(40) == np.arange(len(bits))[:, None] % 40
    lines = np.where(here, bits[:, None], 0).astype(np.uint16).view(dtype)
    for most in jax.jit(lambda x: (x.max(1), x.min(1)))(lines):
        assert {*np.asarray(most).view(np.uint16).tolist()} == {int(np.array(np.nan, dtype).view(np.uint16))}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_of_nothing_it_is_an_infinity(dtype):
    least, most = jax.jit(lambda x: (lax.reduce_max_p.bind(x, axes=(1,)), lax.reduce_min_p.bind(x, axes=(1,))))(
        np.ones((3, 0), dtype))
    same(least, [-np.inf] * 3)
    same(most, [np.inf] * 3)


def test_loops_of_extremes_widen_nothing():
    def text(function):
        return jax.jit(function).lower(jax.ShapeDtypeStruct((300, 400), np.float16)).as_text()

    for function in (jnp.max, lambda x: x.max(0), lambda x: x.min(1)):
        assert "tt_rank_of_bits" in text(function)
        assert "tt_widen" not in text(function)
    assert "tt_rank_of_bits" not in text(lambda x: jnp.max(x * 2))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_bits_of_every_number_are_those_in_memory(dtype):
    x = EVERY.view(dtype)
    found = jax.jit(lambda x: (
        lax.bitcast_convert_type(x, jnp.int16), lax.bitcast_convert_type(x[::-1], jnp.uint16), jnp.signbit(x),
        lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.uint16) ^ 3, x.dtype).view(np.uint16)))(x)
    for got, want in zip(found, (EVERY.view(np.int16), EVERY[::-1], EVERY >= 0x8000, EVERY ^ 3), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_bits_of_what_is_computed_and_numbers_beside_their_bits(dtype):
    x = of(dtype, (3000,))

    def f(x):
        bits = lax.bitcast_convert_type(x, jnp.int16)
        made = lax.bitcast_convert_type(x * 2 + 1, jnp.int16)
        return made, x * x + bits.astype(x.dtype), jnp.signbit(x) & (x * 2 > x)

    with np.errstate(all="ignore"):
        wide = (x * dtype.type(2) + dtype.type(1)).view(np.int16)
        np.testing.assert_array_equal(jax.jit(f)(x)[0], wide)
    checked(f, x, inputs=(x,))


def test_no_loop_goes_before_one_that_reads_bits():
    text = jax.jit(jnp.signbit).lower(jax.ShapeDtypeStruct((5000,), np.float16)).as_text()
    assert "memcpy" not in text
    assert "tt_f16_to_f32" not in text
