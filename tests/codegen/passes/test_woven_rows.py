"""What is stored side by side is computed one array each, and woven, to the same bits."""
import sys

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.passes import woven_rows
from tinytrace.core.trace import interpreting

X = np.random.default_rng(0).standard_normal(1500).astype(np.float32)
K = np.random.default_rng(1).integers(0, 1 << 30, 1500).astype(np.int32)
PROGRAMS = {
    "features": lambda x, k: jnp.stack([x, jnp.sin(x), jnp.cos(x), jnp.exp(x), x * x], -1),
    "digits": lambda x, k: jnp.stack([k // 10**j % 10 for j in range(6)], -1).astype(np.uint8) + 48,
    "a matrix for each": lambda x, k: jnp.stack([jnp.cos(x), -jnp.sin(x), x * 0, jnp.sin(x), jnp.cos(x), x * 0, x * 0,
                                                 x * 0, x * 0 + 1], -1).reshape(-1, 3, 3),
    "few": lambda x, k: jnp.stack([jnp.tanh(x[:70] * j) for j in range(5)], -1),
    "backwards": lambda x, k: jnp.stack([jnp.exp(x), x, jnp.log1p(abs(x)), x / 3, jnp.sqrt(abs(x))], -1)[:, ::-1],
    "inside": lambda x, k: (jnp.stack([jnp.tanh(x.reshape(15, 100) * j) for j in range(5)], -1) + x.reshape(15, 100, 1)
                            * x[:15, None, None]),
    "powers": lambda x, k: jnp.vander(abs(x), 7),
    "frequencies": lambda x, k: jnp.sin(x[:, None] * 2.0 ** jnp.arange(10)),
    "rows of float16": lambda x, k: jax.nn.relu(x.astype(np.float16).reshape(-1, 6) + (k[:6] % 7).astype(np.float16)),
    "powers of bfloat16": lambda x, k: abs(x[:, None]).astype(jnp.bfloat16) ** jnp.arange(6, dtype=jnp.bfloat16),
    "short rows of two axes": lambda x, k: jnp.exp(x.reshape(15, 100, 1) * jnp.arange(5)) + x[:15, None, None],
    "two of float16": lambda x, k: jnp.stack([jnp.sin(x.astype(np.float16)), x.astype(np.float16) + 1], -1),
    "points of float16": lambda x, k: jnp.cross(jnp.stack([x.astype(np.float16)] * 3, -1),
                                                jnp.stack([(k % 7).astype(np.float16)] * 3, -1)),
    "joined float16": lambda x, k: jnp.stack([x.astype(np.float16) * j for j in range(7)], -1),
    "a loop": lambda x, k: jax.lax.fori_loop(
        0, 3, lambda j, y: jnp.stack([jnp.tanh((x + j) * i) for i in range(5)], -1), jnp.stack([x] * 5, -1)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_woven_rows_have_the_bits_of_others(name, monkeypatch):
    def results():
        jax.clear_caches()
        return np.asarray(jax.jit(lambda *args: PROGRAMS[name](*args))(X, K))

    woven = results()
    with interpreting():
        np.testing.assert_allclose(woven, np.asarray(PROGRAMS[name](X, K)), rtol=1e-5, atol=1e-6)
    monkeypatch.setattr(woven_rows, "FEWEST", sys.maxsize)
    assert results().tobytes() == woven.tobytes()
    jax.clear_caches()


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_woven(name):
    assert "_part[" in jax.jit(PROGRAMS[name]).lower(X, K).as_text()


@pytest.mark.parametrize("function", [
    lambda x: jnp.stack([x, jnp.sin(x), jnp.exp(x)], -1), lambda x: jnp.stack([x, x + 1, x * 2, x - 1, x], -1),
    lambda x: jnp.stack([jnp.sin(x[:40])] * 5, -1), lambda x: [jnp.sin(x), jnp.cos(x), x, x * x, jnp.exp(x)],
    lambda x: jnp.stack([jnp.sin(x).astype(jnp.bfloat16)] * 5, -1), lambda x: x[:, None] * jnp.arange(7),
    lambda x: jnp.sin(x[:, None] * jnp.arange(4)), lambda x: jnp.sin(x[:, None] * jnp.arange(32)),
    lambda x: jnp.sin(x[:, None] * jnp.arange(8)), lambda x: jnp.sin(x[:, None]) * jnp.arange(7),
    lambda x: jnp.sin(x.reshape(-1, 6).T[:, ::-1].T[:, ::2]),
    lambda x: x.astype(jnp.bfloat16).reshape(-1, 6) + x[:6].astype(jnp.bfloat16),
    lambda x: jnp.pad(jnp.stack([jnp.sin(x), jnp.exp(x), jnp.cos(x), x, x], -1), ((0, 0), (0, 1)))])
def test_what_compilers_weave_or_is_cheap_or_short_is_left(function):
    assert "_part[" not in jax.jit(function).lower(X).as_text()
