"""Sums in lanes: every element is added once, whatever is left over of strides, groups and rows of lanes."""

import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.meanings import in_numpy
from tinytrace.codegen.schedule.lane_simd import SHORT_ROWS, WHOLE


@pytest.mark.parametrize("columns", [3, 16, 130])
def test_sums_along_columns_of_any_length(columns):
    """Of small whole numbers, which no order of additions rounds."""
    arrays = [(np.arange(n * columns) % 11 - 3).astype(np.float32).reshape(n, columns)
              for n in (7, 255, 256, 523, 1100)]
    sums = jax.jit(lambda arrays: [(jnp.sum(x, axis=0), jnp.sum(x * x, axis=0)) for x in arrays])(arrays)
    for x, (total, squares) in zip(arrays, sums, strict=True):
        np.testing.assert_array_equal(total, x.sum(axis=0))
        np.testing.assert_array_equal(squares, (x * x).sum(axis=0))


MIXED = {
    "copies": lambda np, x: (x.T * 2, x.T.sum(1) / x.sum()),
    "copies of a batch": lambda np, x: (np.swapaxes(x, 0, 2) * 2, centred(np.swapaxes(x, 0, 2).sum(2))),
    "other folds": lambda np, x: (x.T.sum(1), (x.T * 2).sum()),
    "folds of another kind": lambda np, x: (np.abs(x.T).max(), centred(x.T.sum(1))),
    "running folds": lambda np, x: (np.cumsum(x.T, 1), centred(x.T.sum(1))),
}


def centred(x):
    return x - x.max(-1, keepdims=True)


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("shape", [(5, 6), (40, 70)])
def test_folds_of_columns_beside_something_else_in_one_loop(name, shape):
    shape = (*shape, 3) if "batch" in name else shape
    x = (np.random.default_rng(0).integers(-40, 50, shape) / 8).astype(np.float32)
    for ours, expected in zip(jax.jit(lambda x: MIXED[name](jnp, x))(x), MIXED[name](np, x), strict=True):
        np.testing.assert_allclose(ours, expected, 1e-5, 1e-5)


ROWS = {
    "log_softmax": lambda x: jax.nn.log_softmax(x),
    "softmax": lambda x: jax.nn.softmax(x),
    "largest": lambda x: (x.max(-1), x.argmin(-1)),
    "kept and returned": lambda x: (jnp.exp(x - x.max(-1, keepdims=True)), x.min(-1)),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("shape", [(64, 5), (150, 10), (3, 70, 7), (129, 15), (129, 31), (63, 10), (100, 8)])
def test_short_rows_are_computed_together_and_are_those_of_one_row(name, shape):
    """A lane each, also those that are left over; special values stay in their rows.

    Rows of 16 and more have folds of another kind (`passes/crosswise_folds.py`), but where a place is asked for; and
    so have rows that are whole vectors, but where they can be turned in registers.
    """
    def program(x):
        return ROWS[name](x)

    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x[0], x[1, ..., 0], x[2, ..., -1] = -np.inf, np.nan, np.inf
    run = jax.jit(program)
    text, results = run.lower(x).as_text(), jax.tree.leaves(run(x))
    one = [jax.tree.leaves(jax.jit(program)(x[k:k + 1])) for k in range(len(x))]
    for k, result in enumerate(results):
        np.testing.assert_allclose(result, np.concatenate([each[k] for each in one]), 2e-6, 2e-6)
    rows, size = int(np.prod(shape[:-1])), shape[-1]
    are_lanes = size in SHORT_ROWS | WHOLE if name == "largest" else size in SHORT_ROWS and size < 16
    assert ("lane < 64" in text) == (rows >= 64 and are_lanes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "lie_apart"), [("softmax", True), ("largest", True), ("largest", False)])
def test_elements_that_several_stages_read_are_neighbours(name, lie_apart, dtype):
    """Elements of neighbouring lanes that lie apart are copied once, and all stages read the copies.

    Those of four bytes are turned in registers.
    """
    def program(x):
        return ROWS[name](x if lie_apart else x.T)

    with jax.enable_x64(dtype == np.float64):
        x = np.random.default_rng(0).standard_normal((640, 10) if lie_apart else (10, 640)).astype(dtype)
        run = jax.jit(program)
        text = run.lower(x).as_text()
        assert len(re.findall(r"\ba\[[^\]]*10 \* lane", text)) == (lie_apart and dtype == np.float64)
        assert len(re.findall(r"tt_turn_rows_32\(a_lanes", text)) == (lie_apart and dtype == np.float32)
        assert ("a_lanes" in text) == lie_apart
        for ours, one in zip(jax.tree.leaves(run(x)), jax.tree.leaves(program(jnp.asarray(x))), strict=True):
            np.testing.assert_allclose(ours, one, 1e-6)


@pytest.mark.parametrize("length", [5, 6, 7, 8, 9, 12, 15])
@pytest.mark.parametrize("rows", [64, 71, 200])
def test_rows_that_are_turned(length, rows):
    """Nothing behind the last row is read, and rows may lie apart."""
    x = np.random.default_rng(rows).integers(-99, 99, (rows, length))
    results = jax.jit(lambda x, y: (x.sum(1), x.prod(1), x.argmax(1), (y * 2).max(1), y[:, 1:].argmin(1)))(
        x.astype(np.int32), x.astype(np.float32))
    with np.errstate(over="ignore"):
        product = x.astype(np.int32).prod(1, dtype=np.int32)
    for ours, want in zip(results, (x.sum(1), product, x.argmax(1), x.max(1) * 2, x[:, 1:].argmin(1)), strict=True):
        np.testing.assert_array_equal(ours, want)


@pytest.mark.parametrize(("padding", "is_copied"), [("SAME", False), ("VALID", True)])
def test_what_may_lie_outside_of_its_array_is_not_copied(padding, is_copied):
    """A window over the edge has elements that are chosen against; to copy them would read them nevertheless."""
    def largest(x):
        return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (5, 4), (3, 2), padding).sum()

    x, run = np.random.default_rng(0).standard_normal((517, 613)).astype(np.float32), jax.jit(jax.grad(largest))
    assert ("a_lanes" in run.lower(x).as_text()) == is_copied
    np.testing.assert_array_equal(run(x), *in_numpy(jax.grad(largest), x))


def test_short_rows_of_complex_numbers_are_read_one_after_the_other():
    x = np.random.default_rng(0).standard_normal((200, 20)).astype(np.float32).view(np.complex64)
    assert "lane" not in jax.jit(jax.nn.log_softmax).lower(x).as_text()
    assert "lane" in jax.jit(jax.nn.log_softmax).lower(x.real).as_text()


def test_short_rows_that_are_only_added_are_read_one_after_the_other():
    """But where they are turned in registers, and short."""
    x = np.ones((1000, 20), np.float32)
    for rows, is_turned in ((x, False), (x[:, :10], True), (x[:, :10].astype(np.float16), False)):
        assert ("lane" in jax.jit(lambda x: (x * x).sum(-1)).lower(rows).as_text()) == is_turned
    assert "lane" in jax.jit(lambda x: jnp.exp(x).sum(-1)).lower(x[:, :10]).as_text()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_dear_and_the_same_for_a_row_is_computed_once(dtype):
    with jax.enable_x64(dtype == np.float64):
        x = np.random.default_rng(0).standard_normal((1003, 10)).astype(dtype)
        function = jax.jit(lambda x: (jax.nn.log_softmax(x), jnp.tanh(x.sum(1, keepdims=True)) * jnp.exp(x)))
        text = function.lower(x).as_text()
        assert re.search(r"\w+_once\d+\[lane\] = tt_log_f\d\d\(", text)
        assert not re.search(r"for \(int64_t i1 = .*\n.*\n.*\n\s+const \w+ \w+ = tt_log_f", text)
        got = function(x)
        sums = np.exp(x.astype(np.float64)).sum(1, keepdims=True)
        np.testing.assert_allclose(got[0], x - np.log(sums), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(got[1], np.tanh(x.sum(1, keepdims=True)) * np.exp(x), rtol=1e-3, atol=1e-4)
