"""What is read next of a large array is asked for ahead: the next row, or the block a page behind; same results."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.passes import prefetch

X = np.random.default_rng(0).standard_normal((37, 300)).astype(np.float32)

PROGRAMS = {
    "argmax": lambda x: jnp.argmax(x, 1),
    "logsumexp": lambda x: jax.nn.logsumexp(x, 1),
    "softmax": lambda x: jax.nn.softmax(x, 1),
    "two arrays": lambda x: jax.nn.softmax(x * jnp.exp(x - x.max(1, keepdims=True)), 1),
    "a slice of rows": lambda x: jax.nn.softmax(x[1:, 3:], 1),
    "mean and variance": lambda x: (x.mean(1), x.var(1)),
    "in a loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: jax.nn.softmax(y, 1), x),
    "from the largest on": lambda x: jax.nn.softmax(jax.vmap(
        lambda row: jax.lax.dynamic_slice(row, (jnp.argmax(row),), (280,)))(x), 1) + x[:, :280],
}


def text_of(function, *shape):
    return jax.jit(function).lower(jax.ShapeDtypeStruct(shape, np.float32)).as_text()


def assert_same_bits(monkeypatch, limit, function, x):
    """Asking from a low limit on, a program gives the bits that it gives without."""
    plain = jax.tree.leaves(jax.jit(lambda x: function(x))(x))
    for name in {limit, "LARGER_THAN_CACHES"}:
        monkeypatch.setattr(prefetch, name, 4096)
    jax.clear_caches()
    asking = jax.jit(lambda x: function(x))
    assert "__builtin_prefetch(" in asking.lower(x).as_text()
    for a, b in zip(plain, jax.tree.leaves(asking(x)), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    jax.clear_caches()


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same_bits(name, monkeypatch):
    assert_same_bits(monkeypatch, "LARGER_THAN_SECOND_CACHE", PROGRAMS[name], X)


def test_only_rows_that_are_read_again_are_asked_for():
    assert "__builtin_prefetch((a + (1024 * i0 + 16 * a_line + 1024)));" in text_of(PROGRAMS["argmax"], 16384, 1024)
    assert "__builtin_prefetch(" not in text_of(PROGRAMS["argmax"], 500, 1024)
    assert "__builtin_prefetch(" not in text_of(lambda x: x.sum(1), 16384, 1024)
    assert "__builtin_prefetch(" not in text_of(PROGRAMS["argmax"], 1 << 20, 16)


def test_nobody_asks_beyond_the_last_row():
    assert "if (i0 < 16383) {" in text_of(PROGRAMS["argmax"], 16384, 1024)


LONG = np.random.default_rng(0).standard_normal((5, 4500)).astype(np.float32)
IN_BLOCKS = {
    "sums of rows": lambda x: (x.sum(1), (x * x).sum(1)),
    "products with a vector": lambda x: ((x * x[0]).sum(1), x.max(1)),
    "of doubles": lambda x: (x.astype(float).sum(1), x.min(1)),
    "of another part": lambda x: (x[1:, 7:].sum(1), x[1:, 7:].max(1)),
    "a sum alone": lambda x: x.sum(1),
}


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_sums_in_blocks_are_the_same_bits(name, monkeypatch):
    assert_same_bits(monkeypatch, "LARGER_THAN_SECOND_CACHE", IN_BLOCKS[name], LONG)


def test_blocks_a_page_behind_are_asked_for_inside_of_the_array():
    text = text_of(IN_BLOCKS["sums of rows"], 1024, 4096)
    assert "if ((4096 * i0 + 256 * i1_block + 1280) <= 4194304) {" in text
    assert "__builtin_prefetch((a + (4096 * i0 + 256 * i1_block + 16 * a_line + 1024)));" in text
    text = text_of(IN_BLOCKS["sums of rows"], 4096, 4096)  # from memory: two pages
    assert "if ((4096 * i0 + 256 * i1_block + 2304) <= 16777216) {" in text
    assert "__builtin_prefetch((a + (4096 * i0 + 256 * i1_block + 16 * a_line + 2048)));" in text
    assert "__builtin_prefetch(" not in text_of(IN_BLOCKS["sums of rows"], 100, 4096)


def test_a_single_sum_asks_for_what_comes_from_memory():
    assert "__builtin_prefetch(" not in text_of(lambda x: x.sum(1), 1024, 4096)
    text = text_of(lambda x: x.sum(1), 4096, 4096)
    assert "__builtin_prefetch((a + (4096 * i0 + 256 * i1_block + 16 * a_line + 2048)));" in text
