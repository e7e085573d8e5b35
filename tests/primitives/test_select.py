"""The NumPy meaning of select_n: small and large arrays take different ways to what `np.where` says."""
import re

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import lax


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "bool", "int64", "complex64"])
@pytest.mark.parametrize("size", [7, 5000])
def test_select_is_where(dtype, size):
    random = np.random.default_rng(0)
    which = random.random((2, size)) > 0.5
    on_false, on_true = ((random.normal(size=(2, size)) * 100).astype(dtype) for _ in range(2))
    expected = np.where(which, on_true, on_false)
    got = np.asarray(lax.select_n_p.impl(which, on_false, on_true))
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(lax.select_n_p.impl(which.T, on_false.T, on_true.T), expected.T)


def test_select_keeps_every_bit():
    special = np.tile(np.float32([np.nan, -0.0, np.inf, -np.inf, 1e-45, 0.0]), 1000)
    which = np.arange(6000) % 4 < 2
    for on_false, on_true in ((special, special[::-1]), (special[::-1].copy(), special)):
        got = lax.select_n_p.impl(which, on_false, on_true)
        assert got.tobytes() == np.where(which, on_true, on_false).tobytes()


@pytest.mark.parametrize("jitted", [False, True])
def test_an_index_chooses_one_of_two_as_a_condition_does(jitted):
    """An int32 among two cases is no condition, whatever its bits are: out of range it counts as the nearest case."""
    f = jax.jit(lax.select_n) if jitted else lax.select_n
    which = np.int32([0, 1, 2, -1, 256])
    np.testing.assert_array_equal(f(which, np.zeros(5, np.float32), np.ones(5, np.float32)), [0, 1, 1, 0, 1])
    three = [np.full(3, k, np.float32) for k in range(3)]
    np.testing.assert_array_equal(f(np.int32([2, 1, 0]), *three), [2, 1, 0])


@pytest.mark.parametrize("which", [np.array([True, False] * 2000), np.arange(4000, dtype=np.int32) % 3])
def test_complex_numbers_are_chosen_by_their_parts(which):
    """A choice between complex numbers would stop vectors; and each part keeps its bits."""
    cases = [np.full(4000, complex(k, -0.0), np.complex64) for k in range(2 if which.dtype == bool else 3)]
    select = jax.jit(lambda which, *cases: lax.select_n(which, *[-x for x in cases]))
    text = select.lower(which, *cases).as_text()
    assert re.search(r"\[i0\] = __builtin_complex\(.* \? ", text)
    want = np.choose(which.astype(int), [-x for x in cases])
    assert np.asarray(select(which, *cases)).tobytes() == want.tobytes()


@pytest.mark.parametrize("n", [1, 2, 3, 100])
def test_an_index_chooses_among_any_number(n):
    """NumPy's own `choose` takes 64 at most."""
    which = np.int32([-5, 0, n - 1, n, n // 2])
    cases = list(np.random.default_rng(n).normal(size=(n, 5)).astype(np.float32))
    want = [cases[k][i] for i, k in enumerate(np.clip(which, 0, n - 1))]
    assert lax.select_n(which, *cases).tolist() == want
    assert jax.jit(lax.select_n)(which, *cases).tolist() == want
