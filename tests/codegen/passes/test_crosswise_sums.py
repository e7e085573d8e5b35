"""Sums of short rows are the same wherever the rows lie, and what the kernels compute in NumPy."""
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.trace import interpreting

PROGRAMS = {
    "sums": lambda x, y: x.sum(1),
    "squares": lambda x, y: (x * x).sum(1),
    "a matrix and a vector": lambda x, y: x @ y[0],
    "matrices and vectors": lambda x, y: jnp.einsum("bij,bj->bi", jnp.stack([x, y, x + y]), x[:3]),
    "products of rows": lambda x, y: (x * y[::-1]).sum(1) - x[:, 0],
    "terms": lambda x, y: jnp.abs(x - y).sum(1),
    "variances": lambda x, y: x.var(1),
    "layer norm": lambda x, y: (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-3) * y[0],
    "columns of a wider array": lambda x, y: jnp.concatenate([x, y], 1)[:, :x.shape[1]].sum(1) + y.sum(1) * 2,
    "a loop": lambda x, y: jax.lax.fori_loop(0, 2, lambda i, x: x - (x * y).sum(1, keepdims=True) / 64, x),
}
LENGTHS = [8, 9, 15, 16, 23, 24, 31, 32, 40, 47, 48]


def drawn(rows, length):
    """Arrays of small multiples of 1/8, whose sums are exact in any order."""
    draw = np.random.default_rng(rows * length).integers
    return [jnp.asarray(draw(-15, 16, (rows, length)) / 8, jnp.float32) for _ in range(2)]


def text_of(function, *args):
    return jax.jit(function).lower(*args).as_text()


def is_crosswise(text):
    return "tt_add_rows_f32(" in text or "tt_dot_rows_f32(" in text


@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_are_right(name):
    lists = [drawn(rows, length) for rows in (8, 19, 48) for length in LENGTHS]
    results = jax.jit(lambda lists: [PROGRAMS[name](*args) for args in lists])(lists)
    with interpreting():
        expected = [PROGRAMS[name](*args) for args in lists]
    bound = 0 if name in ("sums", "squares", "terms", "a matrix and a vector") else 1e-5
    for ours, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, want, bound, bound)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"a loop"}))  # whose rows are stored where they are read
def test_they_are_crosswise(name):
    assert is_crosswise(text_of(PROGRAMS[name], *drawn(100, 32)))


@pytest.mark.parametrize(("function", "rows", "length"), [
    (lambda x, y: x.sum(1), 7, 32),  # too few
    (lambda x, y: x.sum(1), 100, 7), (lambda x, y: x.sum(1), 100, 257),  # no short rows
    (lambda x, y: jnp.abs(x).sum(1), 100, 49),  # terms in memory cost more
    (lambda x, y: x / jnp.sqrt((x * x).sum(1, keepdims=True)), 100, 65),
    (lambda x, y: x.max(1), 100, 32), (lambda x, y: x.sum(0), 100, 32), (lambda x, y: jnp.cumsum(x, 1), 100, 32),
    (lambda x, y: x.astype(jnp.float16).sum(1), 100, 32), (lambda x, y: x.astype(int).sum(1), 100, 32)])
def test_others_are_left(function, rows, length):
    assert not is_crosswise(text_of(function, *drawn(rows, length)))


@given(st.integers(8, 70), st.sampled_from([8, 11, 16, 29, 32, 45, 64, 100, 256]), st.integers(0, 2**32 - 1))
def test_a_row_has_one_sum(rows, length, seed):
    """Among others, at the end of a strip and beside another one; and the sum that the kernels have in NumPy."""
    x = np.random.default_rng(seed).standard_normal((rows, length), np.float32)
    sums = jax.jit(lambda x: x.sum(1))(x)
    np.testing.assert_array_equal(sums[::-1], jax.jit(lambda x: x.sum(1))(x[::-1]))
    np.testing.assert_array_equal(sums[-8:], jax.jit(lambda x: x.sum(1))(x[-8:]))
    program = jax.jit(lambda x: x.sum(1)).lower(x).compile()._program
    np.testing.assert_allclose(sums, program.run_kernels([jnp.asarray(x)])[0], 1e-4, 1e-4)


@pytest.mark.parametrize("length", [8, 13, 16, 20, 24, 32, 100])
def test_nothing_of_another_row_is_added(length):
    x = np.ones((24, length), np.float32)
    x[1::3] = np.nan
    x[2::3] = np.inf
    expected = np.resize(np.float32([length, np.nan, np.inf]), 24)
    np.testing.assert_array_equal(jax.jit(lambda x: x.sum(1))(x), expected)
    np.testing.assert_array_equal(jax.jit(lambda x: (x * x).sum(1))(x), expected)


def test_a_sum_of_negative_zeros_is_zero():
    x = np.full((9, 32), -0.0, np.float32)
    assert not np.signbit(jax.jit(lambda x: x.sum(1))(x)).any()
