"""Loops with long chains of operations run in phases over strips, and mean the same."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.passes import loop_fission

X = np.random.default_rng(0).uniform(0.5, 2, 3000).astype(np.float32)

PROGRAMS = {
    "one after the other": lambda x: jnp.sin(jnp.exp(jnp.cos(jnp.log(x)))),
    "side by side": lambda x: jnp.sin(x) * jnp.cos(x) + jnp.tanh(x) / (1 + jnp.exp(-x)),
    "two results": lambda x: (jnp.log(x), jnp.sin(jnp.exp(jnp.cos(jnp.log(x))))),
    "half": lambda x: jnp.sin(jnp.exp(jnp.cos(jnp.log(x.astype(jnp.float16))))),
    "double": lambda x: jnp.sin(jnp.exp(jnp.cos(jnp.log(x.astype(jnp.float64))))),
    "in place": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: jnp.sin(jnp.exp(jnp.cos(jnp.log(y + 2)))), x),
    "bytes": lambda x: jax.lax.lgamma((8 * x).astype(jnp.int8).astype(jnp.float32)),
    "rows": lambda x: jnp.sin(jnp.exp(jnp.cos(jnp.log(x.reshape(2, 1500))))) * x[:1500],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_phases_mean_the_same(name, monkeypatch):
    with jax.enable_x64(True):
        program = PROGRAMS[name]
        in_phases = jax.tree_util.tree_leaves(jax.jit(lambda x: program(x))(X))
        monkeypatch.setattr(loop_fission, "LONG_CHAIN", 1000)
        jax.clear_caches()
        at_once = jax.tree_util.tree_leaves(jax.jit(lambda x: program(x))(X))
        for a, b in zip(in_phases, at_once, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64),
                                       rtol=4 * jnp.finfo(a.dtype).eps)
    jax.clear_caches()


@pytest.mark.parametrize("shift", [1, 952, 1024, 2500])
def test_no_place_is_rounded_differently(shift):
    function = jax.jit(lambda x: x * jnp.sin(jnp.exp(jnp.cos(x * x + 0.1) * x) * x + 0.3) + x)
    assert np.asarray(function(np.roll(X, shift))).tobytes() == np.roll(np.asarray(function(X)), shift).tobytes()


def text_of(function, n=5000, dtype=np.float32):
    return jax.jit(function).lower(jax.ShapeDtypeStruct((n,), dtype)).as_text().partition("tt_entry")[2]


def test_the_text_of_two_phases():
    text = text_of(lambda x: jnp.sin(jnp.exp(jnp.cos(jnp.log(x)))))
    assert "float c_row[1024];" in text
    assert "c_row[i0] = tt_cos_f32(b);" in text
    assert "const float d = tt_exp_f32(c_row[i0]);" in text


def test_short_chains_and_short_loops_are_not_cut():
    assert "_row" not in text_of(lambda x: jnp.exp(jnp.cos(x)))
    assert "_row" not in text_of(lambda x: jnp.sin(x) * jnp.cos(x) + jnp.tanh(x) / (1 + jnp.exp(-x)))
    assert "_row" not in text_of(lambda x: jnp.sin(jnp.exp(jnp.cos(jnp.log(x)))), 1000)


def test_bytes_are_widened_before_what_takes_doubles():
    def text(function, dtype):
        return text_of(lambda x: function(x.astype(jnp.float32)), dtype=dtype)

    for dtype in (np.int8, np.uint16):
        assert "b_row[i0] = (float)a[i0 + 1024 * i0_strip]" in text(jax.lax.lgamma, dtype)
        assert "_row" not in text(jnp.exp, dtype)
    assert "_row" not in text(jax.lax.lgamma, np.int32)


def test_what_is_guarded_is_not_computed_before():
    padded = text_of(lambda x: jnp.sin(jnp.exp(jnp.cos(jnp.log(jnp.pad(x, 4500))))))
    assert "_row[i0] = a[" not in padded


def test_roots_and_maxima_are_short():
    assert "_row" not in text_of(lambda x: jnp.hypot(x, 1 - x))
    assert "_row" not in text_of(lambda x: jnp.maximum(jnp.sqrt(jnp.maximum(jnp.abs(x - 1) / 3, 0.5)) / 7, 0.1))
