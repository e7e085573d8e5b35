"""Loops of maxima fold into several variables: the same bits, and no loop whose order is somebody's business."""
from __future__ import annotations

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import numpy as jnp
from tinytrace.core.trace import interpreting

FOLDS = {
    "max": jnp.max, "min": jnp.min, "ptp": jnp.ptp, "nanmax": jnp.nanmax, "argmax": jnp.argmax, "argmin": jnp.argmin,
    "largest size": lambda x: jnp.abs(x).max(), "rows": lambda x: jnp.max(jnp.stack([x, x]), 1),
}


def text_of(function, n=5000, dtype=np.float32):
    return jax.jit(function).lower(jax.ShapeDtypeStruct((n,), dtype)).as_text().partition("tt_entry")[2]


@pytest.mark.pairs
@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("n", [33, 200, 511, 512, 1001, 100_003])
def test_the_extreme_is_found_wherever_it_lies(name, dtype, n):
    function = jax.jit(FOLDS[name])
    random = np.random.default_rng(n)
    for place in (0, n // 4 - 1, n // 2, 4 * (n // 64 * 16) - 1, n - 1):
        x = random.integers(10, 100, n).astype(dtype)
        x[place] = 3 if "min" in name else 120
        with interpreting():
            want = np.asarray(FOLDS[name](jnp.asarray(x)))
        np.testing.assert_array_equal(np.asarray(function(x)), want)


@pytest.mark.parametrize(("n", "place"), [(1003, 0), (1003, 300), (1003, 999), (1003, 1002), (100, 83), (100, 99),
                                          (40, 39)])
def test_a_nan_is_seen_in_every_part(n, place):
    x = np.arange(n, dtype=np.float32)
    x[place] = np.nan
    assert np.isnan(jax.jit(jnp.max)(x))
    assert jax.jit(jnp.argmax)(x) == place


def test_there_are_four_variables():
    text = text_of(jnp.max, 100_000)
    assert "reduction(max: b_max, b_max_1, b_max_2, b_max_3)" in text
    assert "a[i0 + 74976]" in text  # the last of four parts, which begins where a vector does
    assert "for (int64_t i0 = 0; i0 < 32; i0++)" in text
    assert "a[i0 + 1000]" not in text_of(jnp.max, 1003)
    assert "a[i0 + 955]" in text_of(jnp.max, 1003)  # 43 are left over, and taken as 48


def test_there_is_one_where_elements_come_from_beyond_the_caches():
    assert "b_max_1" not in jax.jit(jnp.max).lower(jax.ShapeDtypeStruct((1_000_000,), np.float32)).as_text()


def test_what_vectors_leave_over_is_the_last_vector_once_more():
    text = text_of(jnp.max, 100)
    assert text.count("reduction(max: b_max)") == 2
    assert "for (int64_t i0 = 0; i0 < 96; i0++)" in text
    assert "a[i0 + 84]" in text
    assert "#ifdef" not in text
    assert "a[i0 + 184]" in text_of(lambda x: (x > 1).any(), 200).partition("#else")[0]  # eight: a vector of 256 bits
    assert "#ifdef" not in text_of(jnp.max, 208)
    with jax.enable_x64(True):
        assert "#ifdef" not in text_of(jnp.max, 200, np.int64)
    assert text_of(lambda x: (x * 2).sum(), 100).count("for (") == 1


@pytest.mark.parametrize("function", [
    jnp.sum,  # the order of a sum is seen
    lambda x: jnp.max(x[:500]),  # too short
    lambda x: jnp.max(jnp.exp(x)),  # has enough to do meanwhile
    lambda x: jnp.any(x > 0),  # waits one cycle
], ids=["sum", "short", "long", "or"])
def test_other_loops_stay(function):
    assert "_3" not in text_of(function)


@pytest.mark.parametrize("n", [511, 512, 575, 10_007])
def test_products_of_complex_numbers_have_64_lanes(n):
    angles = np.random.default_rng(n).uniform(-3, 3, n)
    x = np.exp(1j * angles).astype(np.complex64)
    got = jax.jit(jnp.prod)(x)
    np.testing.assert_allclose(got, np.exp(1j * angles.sum()), rtol=0, atol=1e-5)
    assert ("b_lanes[64]" in text_of(jnp.prod, n, np.complex64)) == (n >= 512)
    assert got == jnp.prod(jnp.asarray(x))
    for place in (0, n // 2, n - 1):
        assert jax.jit(jnp.prod)(np.where(np.arange(n) == place, 3j, np.complex64(1))) == 3j


def test_products_of_several_things_have_lanes_each():
    def both(x):
        return jnp.prod(x), jnp.prod(x * 1j)

    x = np.exp(1j * np.arange(1000)).astype(np.complex64)
    with interpreting():
        want = both(jnp.asarray(x))
    np.testing.assert_allclose(np.stack(jax.jit(both)(x)), np.stack(want), rtol=1e-4)
