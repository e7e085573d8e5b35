"""Loops that fold rows fold four at once where vectors have at most 256 bits; same results."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.passes import prefetch, streams
from tinytrace.config import enable_x64

X = np.random.default_rng(0).standard_normal((37, 1104)).astype(np.float32)
LONG = np.random.default_rng(0).standard_normal((19, 4512)).astype(np.float32)
LARGE = np.random.default_rng(0).standard_normal((1 << 18) + 77).astype(np.float32)

PROGRAMS = {
    "sums of rows": (lambda x: x.sum(1), X),
    "sums of long rows": (lambda x: x.sum(1), LONG),
    "a sum": (lambda x: x.sum(), LARGE),
    "moments of rows": (lambda x: (x.sum(1), ((x - 1) * (x + 1)).sum(1)), LONG),
    "two sums of rows": (lambda x: (x.sum(1), (x - 1).sum(1)), X),
    "of two arrays": (lambda x: (x[:18] - x[18:36]).sum(1), X),
    "of doubles": (lambda x: x.astype(np.float64).sum(1), X),
    "of integers": (lambda x: x.sum(1), LONG.view(np.int32)),
    "of another part": (lambda x: x[1:, 8:].sum(1), X),
    "of squares": (lambda x: (x * x).sum(1), X),
    "products with a vector": (lambda x: x @ x[0], X),
    "of what is computed once for all": (lambda x: (x * jnp.sqrt(jnp.abs(x[0]) + 1)).sum(1), X),
    "in a loop": (lambda x: jax.lax.fori_loop(0, 3, lambda i, s: s + (x + s[:, None]).sum(1), x[:, 0]), X),
}


def text_of(function, *shape):
    return jax.jit(function).lower(jax.ShapeDtypeStruct(shape, np.float32)).as_text()


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same_bits(name, monkeypatch):
    function, x = PROGRAMS[name]
    with enable_x64(name == "of doubles"):
        assert_same_bits(function, x, monkeypatch)


def assert_same_bits(function, x, monkeypatch):
    plain = jax.tree.leaves(jax.jit(lambda x: function(x))(x))
    for module in (prefetch, streams):
        monkeypatch.setattr(module, "LARGER_THAN_SECOND_CACHE", 4096)
    monkeypatch.setattr(prefetch, "LARGER_THAN_CACHES", 4096)
    jax.clear_caches()
    program = jax.jit(lambda x: function(x)).lower(x)
    assert "_group" in program.as_text()
    for a, b in zip(plain, jax.tree.leaves(program.compile()(x)), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    for a, b in zip(plain, program.compile()._program.run_kernels([jnp.asarray(x)]), strict=True):
        np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), 2e-3, 2e-3)
    jax.clear_caches()


def test_four_rows_are_folded_at_once_and_what_is_left_one_by_one():
    text = text_of(lambda x: x.sum(1), 4097, 1024)
    wide, narrow = text.split("#ifdef __AVX512F__")[1].split("#else")
    assert "_group" not in wide
    assert "(void *)b}, 1024, " in narrow
    assert "i0 = 4096; i0 < 4097" in narrow
    assert "b_i_row_3 += a[i1 + 4096 * i0_group + 3072];" in text


@pytest.mark.parametrize("shape", [(1000, 1000), (200, 1000), (4096, 1024), (16, 16384)])
def test_products_with_a_vector_wait_for_no_addition(shape):
    def product(a, x):
        return a @ x

    rng = np.random.default_rng(0)
    a, x = (rng.integers(-9, 9, size).astype(np.float32) for size in (shape, shape[1]))
    text = jax.jit(product).lower(a, x).as_text()
    assert "_row_3 += a[" in text
    assert "fma" not in text
    np.testing.assert_array_equal(jax.jit(product)(a, x), a @ x)


def test_sums_in_blocks_ask_ahead_only_with_wide_vectors():
    before, after = text_of(lambda x: x.sum(), 4096, 4096).split("i0_chunk_group = begin")
    assert "__builtin_prefetch(" in before
    assert "__builtin_prefetch(" not in after


@pytest.mark.parametrize(("function", "shape"), [
    (lambda x: x.sum(1), (400, 128)),  # short rows
    (lambda x: x.sum(1), (1 << 16, 100)),  # rows within a page
    (lambda x: x.sum(1), (4096, 1025)),  # what vectors leave over
    (lambda x: (x.mean(), x.var()), (4096, 4096)),  # three folds
    (lambda x: x.max(1), (400, 1024)),  # has several variables
    (lambda x: jnp.exp(jnp.sin(x)).sum(1), (4096, 1024)),  # does not wait for memory
    (lambda x: jax.nn.softmax(x, 1), (4096, 1024)),
])  # fmt: skip
def test_other_loops_stay_as_they_are(function, shape):
    assert "_group" not in text_of(function, *shape)


def test_maxima_that_wait_for_memory_are_read_in_streams():
    assert "_group" in text_of(lambda x: x.max(1), 4096, 1024)
