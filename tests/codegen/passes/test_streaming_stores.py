"""Results that are larger than the caches are stored past them, and are the same."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.passes import streaming_stores

X = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
SQUARE = np.random.default_rng(1).standard_normal((7, 1500)).astype(np.float32)

PROGRAMS = {
    "whole strips": (lambda x: x + 1, X[:4096]),
    "a rest": (lambda x: x * 2 + 1, X),
    "bytes": (lambda x: x > 0, X),
    "half": (lambda x: x.astype(jnp.bfloat16) + 1, X),
    "two results": (lambda x: (jnp.exp(x), x.astype(jnp.int32)), X),
    "rows that start anywhere": (lambda x: x * x[0], SQUARE),
    "a padded edge": (lambda x: jnp.pad(x, 3) * 2, X),
    "backwards": (lambda x: x[::-1] + 1, X),
    "in a loop": (lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y * 2 + x, x), X),
    "a running sum": (lambda x: jnp.cumsum(x), X),
    "one strip": (lambda x: jnp.sin(x) + 1, X[:1024]),
    "one strip of several loops": (lambda x: jax.lax.erf_inv(jnp.sin(jnp.exp(jnp.tanh(x)))), X[:1024]),
    "transposed": (lambda x: x.T + 1, SQUARE),
}


@pytest.fixture
def small_caches(monkeypatch):
    monkeypatch.setattr(streaming_stores, "LARGER_THAN_CACHES", 4096)


@pytest.mark.parametrize("name", PROGRAMS)
def test_streamed_results_are_the_same_bits(name, monkeypatch):
    program, x = PROGRAMS[name]
    stored = jax.tree_util.tree_leaves(jax.jit(lambda x: program(x))(x))
    monkeypatch.setattr(streaming_stores, "LARGER_THAN_CACHES", 4096)
    jax.clear_caches()
    streamed = jax.tree_util.tree_leaves(jax.jit(lambda x: program(x))(x))
    for a, b in zip(stored, streamed, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    jax.clear_caches()


def text_of(function, *shapes):
    return jax.jit(function).lower(*[jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]).as_text()


def test_only_results_larger_than_the_caches_are_streamed():
    assert "tt_stream(" in text_of(lambda x: x + 1, (1 << 23,))
    assert "tt_stream(" not in text_of(lambda x: x + 1, (1 << 22,))
    assert "tt_stream(" not in text_of(jnp.sum, (1 << 23,))


def test_what_is_read_again_in_the_loop_is_not_streamed(small_caches):
    assert "tt_stream(" in text_of(lambda x: x + 1, (5000,))
    in_place = text_of(lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y * 2, x), (5000,))
    assert "c[i0] = c[i0] * 2.0f;" in in_place
    jax.clear_caches()


def test_the_heading_says_what_the_loop_was(small_caches):
    text = text_of(lambda x: x - 1, (5000,))
    assert "/* loop over 5000: reads 20.0 kB, writes 20.0 kB, 5.00 kflop" in text
    jax.clear_caches()
