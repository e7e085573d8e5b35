"""Loops that read small elements from computed places, and are split, give the bits of one loop."""
import itertools
import sys

import ml_dtypes
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.passes import narrow_gathers

X = np.random.default_rng(0).standard_normal(3000).astype(np.float32)
PLACES = np.random.default_rng(1).integers(-3005, 3005, 3000)
PROGRAMS = {
    "a table": lambda x, i: x[i] * 3 + x * 2 - 1,
    "two tables": lambda x, i: x[i] * x[::-1][i] + x * 2 - 1,
    "a computed place": lambda x, i: x[(i * 7 + 3) % 11] * 3 - x * x + 1,
    "a place from floats": lambda x, i: x[(jnp.sin(i) * 1000).astype(int)] * 3 - x * x + 1,
    "a place from a table": lambda x, i: x[i[i]] * 3 - x * x + 1,
    "a reading of a reading": lambda x, i: x[(x[i] * 2).astype(int)] * 3 - x * x + 1,
    "out of bounds": lambda x, i: x.at[i * 2].get(mode="fill", fill_value=7) * 3 + x * x - 1,
    "in rows": lambda x, i: x.reshape(3, 1000)[:, i[:700]] * 3 + x[:700] * x[5:705] - 1,
    "binary search": lambda x, i: jnp.searchsorted(jnp.sort(x), x[::-1]),
    "interpolation": lambda x, i: jnp.interp(x.astype(np.float32), jnp.sort(x).astype(np.float32),
                                             x.astype(np.float32)),
    "a fold": lambda x, i: (x[i] * x * 2 - x).sum(),
    "a loop": lambda x, i: jax.lax.fori_loop(0, 3, lambda k, y: (y[i] * 3 + x * 2 - k) % 100, x),
    "a gradient": lambda x, i: jax.grad(lambda x: (x[i].astype(np.float32) * x * x).sum())(x.astype(np.float32)),
}


DTYPES = [np.float16, ml_dtypes.bfloat16, np.int8, np.uint16]


@pytest.mark.parametrize(("name", "dtype"), list(zip(PROGRAMS, itertools.cycle(DTYPES))))
def test_split_loops_give_the_bits_of_one(name, dtype, monkeypatch):
    x = (X * 30).astype(np.int8).astype(dtype)

    def bits():
        jax.clear_caches()
        return np.asarray(jax.jit(lambda x, i: PROGRAMS[name](x, i))(x, PLACES)).tobytes()

    split = bits()
    monkeypatch.setattr(narrow_gathers, "FEWEST", sys.maxsize)
    assert bits() == split
    jax.clear_caches()


def text_of(function, dtype):
    x, i = jax.ShapeDtypeStruct((3000,), dtype), jax.ShapeDtypeStruct((3000,), np.int32)
    return jax.jit(function).lower(x, i).as_text()


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_what_is_split(dtype):
    assert "_read[" in text_of(PROGRAMS["a table"], dtype)
    assert "_place[" in text_of(PROGRAMS["two tables"], dtype)
    assert "_read[" in text_of(PROGRAMS["binary search"], dtype)
    assert "_read[" not in text_of(lambda x, i: x[i], dtype)
    assert "_read[" not in text_of(PROGRAMS["a table"], np.float32)
