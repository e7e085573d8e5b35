"""Loops that read wide elements backwards, or float16 at distances, and are split, give the bits of one loop."""
import sys

import ml_dtypes
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.passes import strided_reads
from tinytrace.core.trace import interpreting

X = np.random.default_rng(0).standard_normal(3000).astype(np.float32)
M = np.random.default_rng(1).random(3000) > 0.5
H = np.random.default_rng(3).standard_normal(3000).astype(np.float16)
K = np.random.default_rng(2).integers(-50, 50, 3000).astype(np.int8)


def of_halves():
    return jnp.asarray(H)


PROGRAMS = {
    "a choice": lambda x, m, k: jnp.where(m, x[::-1], x),
    "a factor": lambda x, m, k: x[::-1] * k,
    "two": lambda x, m, k: x[::-1] * k - x[1:2001][::-1].sum() + jnp.flip(x * 2),
    "of two sizes": lambda x, m, k: x[::-1] * k + x.astype(np.float16)[::-1] * x.astype(np.int32)[::-1],
    "a comparison": lambda x, m, k: x[::-1] > x,
    "a conversion": lambda x, m, k: x[::-1].astype(np.int8),
    "halves": lambda x, m, k: x[::-1].astype(np.float16) + x.astype(ml_dtypes.bfloat16),
    "a part": lambda x, m, k: x[5:1800][::-1] * k[1000:2795],
    "few": lambda x, m, k: x[:20][::-1] * k[:20],
    "rows": lambda x, m, k: jnp.where(m.reshape(6, 500), x.reshape(6, 500)[:, ::-1], 0),
    "padded": lambda x, m, k: jnp.where(m, jnp.pad(x[:2900][::-1], (50, 50)), x),
    "a fold": lambda x, m, k: (x[::-1] * k).max(),
    "a sum": lambda x, m, k: (x.astype(np.int32)[::-1] * k).sum(),
    "a derivative": lambda x, m, k: jnp.polyder(k),
    "columns of halves": lambda x, m, k: (jnp.cos(k.astype(np.float16).reshape(-1, 3)[:, 1])
                                          + of_halves()[1:3000:3] * of_halves()[::3]),
    "a cross product": lambda x, m, k: jnp.cross(of_halves().reshape(-1, 3), k.astype(np.float16).reshape(-1, 3)),
    "halves backwards": lambda x, m, k: of_halves()[::-1] * 2 + x.astype(np.float16)[::-1],
    "one of five": lambda x, m, k: (of_halves()[3::5] > 0) * of_halves()[4::5].astype(np.float32),
    "halves and floats": lambda x, m, k: of_halves()[::2] * x[::2] + m[1::2],
    "many columns": lambda x, m, k: sum(jnp.sqrt(abs(of_halves().reshape(-1, 12)[:, j])) for j in range(12)),
    "a temporary that is overwritten": lambda x, m, k: jnp.cross(
        jnp.stack([jnp.tanh(of_halves()[4:85:5]), of_halves()[1:85:5]**2, of_halves()[4:85:5] * 2], -1),
        jnp.stack([of_halves()[:85:5], of_halves()[4:85:5], x[:17].astype(np.float16)], -1)),
    "one of seven bytes": lambda x, m, k: k[2::7][:428] * k[4::7][:428] + m[3::7][:428] * 2,
    "a column of six": lambda x, m, k: k.reshape(-1, 6)[:, 5] + k.astype(np.int16).reshape(-1, 6)[:, 0],
    "a fifth, as it is": lambda x, m, k: k[1::5],
    "a fifth of bfloat16": lambda x, m, k: x.astype(ml_dtypes.bfloat16)[::5] * 2 + k[4::5],
    "a few of many": lambda x, m, k: k[:203:6][:33] + 1,
    "a loop of halves": lambda x, m, k: jax.lax.fori_loop(
        0, 3, lambda i, y: y.at[::2].set(y[1::2] * y[::2]).at[1::2].add(y[::2]), of_halves()),
    "a loop": lambda x, m, k: jax.lax.fori_loop(0, 3, lambda i, y: jnp.where(m, y[::-1], y) + 1, x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_split_loops_give_the_bits_of_one(name, monkeypatch):
    def results():
        jax.clear_caches()
        return np.asarray(jax.jit(lambda *args: PROGRAMS[name](*args))(X, M, K))

    split = results()
    with interpreting():
        np.testing.assert_allclose(split.astype(float), np.asarray(PROGRAMS[name](X, M, K)).astype(float), rtol=1e-3)
    monkeypatch.setattr(strided_reads, "FEWEST", sys.maxsize)
    assert results().tobytes() == split.tobytes()
    jax.clear_caches()


@pytest.mark.parametrize(("name", "is_split"), [
    ("a choice", True), ("a factor", True), ("a comparison", True), ("a conversion", True), ("a part", True),
    ("few", True), ("rows", True), ("a derivative", True),
    ("a sum", True), ("columns of halves", True), ("a cross product", True), ("halves backwards", True),
    ("one of five", True), ("halves and floats", True), ("many columns", False), ("one of seven bytes", True),
    ("a column of six", True), ("a fifth, as it is", True),
])
def test_what_is_split(name, is_split):
    assert ("_read[" in jax.jit(PROGRAMS[name]).lower(X, M, K).as_text()) == is_split


@pytest.mark.parametrize("function", [
    lambda x: x[::-1], lambda x: x[::-1] + x, lambda x: x.astype(np.int8)[::-1] * x,
    lambda x: x[::-2] * x.astype(bool)[:1500], lambda x: -x.astype(np.float16)[::2],
    lambda x: jnp.stack([x[::2], x[1::2]]).astype(np.float16),
])
def test_nothing_wide_is_reversed_beside_narrow_elements(function):
    assert "_read[" not in jax.jit(function).lower(X).as_text()


def test_what_is_changed_is_not_read_before():
    def reversed_in_place(k, x):
        return x.at[:1500].set(jnp.where(M[:1500], x[1500:][::-1], x[:1500]))

    function = jax.jit(lambda x: jax.lax.fori_loop(0, 2, reversed_in_place, x))
    want = X.copy()
    for _ in range(2):
        want[:1500] = np.where(M[:1500], want[1500:][::-1], want[:1500])
    np.testing.assert_array_equal(function(X), want)
