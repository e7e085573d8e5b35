"""A loop that only waits for its fold adds rounded products; one with more to do fuses them."""
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import same

WAITING = {
    "squares": lambda x: jnp.sum(x * x, 1),
    "a product of two": lambda x: x @ x[0],
    "squares of differences": lambda x: jnp.sum((x - x[:, :1]) ** 2, 1),
    "of two folds": lambda x: (jnp.sum(x, 1), jnp.sum(x * x, 1)),
}
BUSY = {
    "of three folds": lambda x: (jnp.sum(x, 1), jnp.sum(1 + x, 1), jnp.sum((x - 1) ** 2, 1)),
    "of a function": lambda x: jnp.sum(jnp.exp(x) * x, 1),
    "of a division": lambda x: jnp.sum((x / (x + 3)) ** 2 * x, 1),
}
FUSED = re.compile(r"(\w+) = tt_fma_f32\(.*, \1\);")


def numbers():
    return np.random.default_rng(0).standard_normal((100, 300)).astype(np.float32)


def source_of(f):
    return jax.jit(f).lower(numbers()).as_text()


@pytest.mark.parametrize("case", WAITING)
def test_a_loop_that_waits_for_its_fold_adds(case):
    assert "reduction(+:" in source_of(WAITING[case])
    assert not FUSED.search(source_of(WAITING[case]))
    same(WAITING[case], numbers())


@pytest.mark.parametrize("case", BUSY)
def test_a_loop_with_enough_to_do_fuses(case):
    assert FUSED.search(source_of(BUSY[case]))
    same(BUSY[case], numbers())


def test_a_sum_of_products_is_that_of_rounded_products():
    """What is added is what the product alone gives, so jit agrees with one operation after the other."""
    x = numbers()
    assert np.array_equal(jax.jit(WAITING["squares"])(x), jnp.sum(jnp.asarray(x) * x, 1))


def rows(function, n, dtype=np.int8):
    return jax.jit(function).lower(jax.ShapeDtypeStruct((1000, n), dtype)).as_text()


@pytest.mark.parametrize(("function", "n", "dtype"), [
    (lambda x: x.sum(1), 10, np.int8), (lambda x: x.sum(1), 31, np.int32), (lambda x: x.sum(1), 9, np.bool_),
    (lambda x: jnp.count_nonzero(x, 1), 17, np.float32),
])
def test_short_rows_are_folded_one_by_one(function, n, dtype):
    text = rows(function, n, dtype)
    assert f"#pragma GCC unroll {n}\n" in text
    assert "reduction(" not in text
    x = np.random.default_rng(n).integers(-100, 100, (1000, n)).astype(dtype)
    want = np.count_nonzero(x, 1) if dtype == np.float32 else x.sum(1, dtype=np.int32)
    np.testing.assert_array_equal(jax.jit(function)(x), want)


@pytest.mark.parametrize(("function", "n", "dtype"), [
    (lambda x: x.sum(1), 32, np.int8),  # long enough
    (lambda x: x.sum(1), 10, np.float32),  # would be added in another order
    (lambda x: jnp.count_nonzero(x, 1), 32, np.float16),  # is dear to convert, and long enough
    (lambda x: (x * x * x + x * 2 - 7 // (x + 300)).sum(1), 10, np.int32),
])
def test_other_folds_stay(function, n, dtype):
    assert "#pragma GCC unroll" not in rows(function, n, dtype)
