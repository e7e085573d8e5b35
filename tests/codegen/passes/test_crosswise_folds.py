"""Folds of short rows are the same wherever the rows lie, and what the kernels compute in NumPy."""
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
    "extremes": lambda x, y: (x.max(1), (x - y[0]).min(1)),
    "rows to unit range": lambda x, y: (x - x.min(1, keepdims=True)) / jnp.ptp(x, 1, keepdims=True),
    "softmax": lambda x, y: jax.nn.softmax(x),
    "log_softmax": lambda x, y: jax.nn.log_softmax(x + y),
    "logsumexp": lambda x, y: jax.scipy.special.logsumexp(x, 1),
    "dear terms of memory": lambda x, y: (jnp.exp(x).sum(1), jnp.tanh(jnp.exp(-y)).max(1)),
    "a loop": lambda x, y: jax.lax.fori_loop(0, 2, lambda i, x: x - (x * y).sum(1, keepdims=True) / 64, x),
}
EXACT = ("sums", "squares", "terms", "a matrix and a vector", "extremes")
LENGTHS = [8, 9, 15, 16, 23, 24, 31, 32, 40, 47, 48, 49, 100, 127]


def drawn(rows, length):
    """Arrays of small multiples of 1/8, whose sums are exact in any order."""
    draw = np.random.default_rng(rows * length).integers
    return [jnp.asarray(draw(-15, 16, (rows, length)) / 8, jnp.float32) for _ in range(2)]


def text_of(function, *args):
    return jax.jit(function).lower(*args).as_text()


def is_crosswise(text):
    return any(f"tt_{name}_rows_f32(" in text for name in ("add", "dot", "max", "min"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_folds_are_right(name):
    lists = [drawn(rows, length) for rows in (8, 19, 48) for length in LENGTHS]
    results = jax.jit(lambda lists: [PROGRAMS[name](*args) for args in lists])(lists)
    with interpreting():
        expected = [PROGRAMS[name](*args) for args in lists]
    bound = 0 if name in EXACT else 1e-5
    for ours, want in zip(jax.tree.leaves(results), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, want, bound, bound)


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"a loop"}))  # whose rows are stored where they are read
def test_they_are_crosswise(name):
    assert is_crosswise(text_of(PROGRAMS[name], *drawn(100, 40)))


@pytest.mark.parametrize(("function", "rows", "length"), [
    (lambda x, y: x.sum(1), 7, 32),  # too few
    (lambda x, y: x.sum(1), 100, 7), (lambda x, y: x.sum(1), 100, 257),  # no short rows
    (lambda x, y: (x - y[0]).sum(1), 100, 49),  # terms in memory cost more
    (lambda x, y: x.max(1), 100, 128), (lambda x, y: jnp.exp(x).max(1), 100, 128),  # wide vectors are quick
    (lambda x, y: x - x.max(1, keepdims=True), 100, 32),  # a row stays in registers
    (lambda x, y: x / jnp.sqrt((x * x).sum(1, keepdims=True)), 100, 65),
    (lambda x, y: x.argmax(1), 100, 32), (lambda x, y: x.prod(1), 100, 32),
    (lambda x, y: x.sum(0), 100, 32), (lambda x, y: jnp.cumsum(x, 1), 100, 32),
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


@pytest.mark.parametrize("length", [8, 9, 13, 16, 20, 32, 100, 127])
@pytest.mark.parametrize("special", [np.nan, -np.nan, np.inf, -np.inf])
def test_extremes_of_rows_with_special_values(length, special):
    """At any place of a row, in any row of four; a row has its own, and infinities of both signs are no NaN."""
    x = np.random.default_rng(length).standard_normal((2 * length + 3, length), np.float32)
    x[np.arange(length), np.arange(length)] = special
    x[2 * length - 1::-5, 0], x[2 * length - 1::-5, length // 2] = np.inf, -np.inf
    largest, smallest = jax.jit(lambda x: (x.max(1), x.min(1)))(x)
    np.testing.assert_array_equal(largest, x.max(1))
    np.testing.assert_array_equal(smallest, x.min(1))


@pytest.mark.parametrize(("length", "is_longer"), [(50, True), (56, False), (100, True)])
def test_longer_rows_beside_several_folds(length, is_longer):
    """Where each of them has elements that fill no vector."""
    x, y = drawn(100, length)
    assert is_crosswise(text_of(PROGRAMS["rows to unit range"], x, y)) == is_longer
    assert not is_crosswise(text_of(lambda x, y: x / jnp.abs(x).sum(1, keepdims=True), x, y))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_of_one_value(value):
    x = np.full((17, 24), value, np.float32)
    np.testing.assert_array_equal(jax.jit(lambda x: x.max(1))(x), x[:, 0])
    np.testing.assert_array_equal(jax.jit(lambda x: x.min(1))(x), x[:, 0])


@pytest.mark.parametrize("length", [20, 50])
def test_results_that_may_lie_where_an_operand_did(length):
    """The last vector of a row takes elements in again: never those that are overwritten."""
    x, _ = drawn(40, length)

    def normal(x):
        return (x - x.max(1, keepdims=True)) * 2

    expected = normal(normal(np.asarray(x)))
    np.testing.assert_array_equal(jax.jit(lambda x: jax.lax.fori_loop(0, 2, lambda _, x: normal(x), x))(x), expected)
    np.testing.assert_array_equal(jax.jit(lambda x: normal(normal(x)), donate_argnums=0)(x), expected)


def test_dear_values_are_computed_once():
    text = text_of(lambda x, y: jax.nn.softmax(x), *drawn(96, 20))
    assert text.count("tt_exp_f32(") == 1


@pytest.mark.parametrize("length", [9, 20, 32, 50])
@pytest.mark.parametrize("fold", [jnp.max, jnp.min])
def test_a_nan_changes_no_other_row(fold, length):
    """Not even the sign of a zero, which depends on the order in which elements are compared."""
    numbers = np.random.default_rng(length)
    alone = np.where(numbers.random((64, length)) < 0.5, np.float32(-0.0), np.float32(0.0))
    beside = alone.copy()
    beside[::4, 3] = np.nan
    run = jax.jit(lambda x: fold(x, axis=1))
    want, got = (np.asarray(run(x)) for x in (alone, beside))
    assert np.isnan(got[::4]).all()
    others = np.arange(64) % 4 > 0
    assert got[others].tobytes() == want[others].tobytes()
