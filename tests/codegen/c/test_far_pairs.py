"""Complex numbers at every third place or farther apart are words, with the same bits; others are pairs of floats."""
from __future__ import annotations

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import numpy as jnp

PROGRAMS = {
    "cross product": lambda x, y: jnp.cross(x, y),
    "sum": lambda x, y: x[:, 0] * y[:, 1] + x[:, 2],
    "stored at a third": lambda x, y: jnp.stack([x[:, 1] - y[:, 2], x[:, 1] * y[:, 0], y[:, 1]], 1),
}


def points(rows: int, seed: int, dtype: str = "complex64") -> np.ndarray:
    draw = np.random.default_rng(seed)
    parts = draw.standard_normal((2, rows, 3)).astype(np.float32)
    parts[:, ::7] = -0.0
    parts[0, ::5] = np.inf
    return (parts[0] + 1j * parts[1]).astype(dtype)


@pytest.mark.parametrize("rows", [5, 64, 1003])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_third_of_complex_numbers_is_read_and_stored_as_words(name, rows):
    x, y = points(rows, 0), points(rows, 1)
    program = jax.jit(PROGRAMS[name])
    assert "tt_complex_of_word(((const uint64_t *)" in program.lower(x, y).as_text()
    with jax.disable_jit():
        want = np.ascontiguousarray(PROGRAMS[name](jnp.asarray(x), jnp.asarray(y)))
    got = np.ascontiguousarray(program(x, y))
    np.testing.assert_array_equal(got, want)
    parts = want.view(np.float32)
    assert (np.signbit(got.view(np.float32)) == np.signbit(parts))[~np.isnan(parts)].all()


def test_results_at_every_third_place_are_words():
    text = jax.jit(jnp.cross).lower(points(64, 0), points(64, 1)).as_text()
    assert "((uint64_t *)" in text
    assert "= tt_word_of_complex(" in text


@pytest.mark.parametrize(("shape", "dtype"), [((40, 2), "complex64"), ((40, 4), "complex64"), ((40, 3), "complex128")])
def test_other_places_and_types_are_no_words(shape, dtype):
    with jax.enable_x64(True):
        text = jax.jit(lambda x: x[:, 0] * x[:, 1] + 1).lower(np.ones(shape, dtype)).as_text()
    assert "of_word(" not in text
    assert "word_of" not in text


ACROSS = {
    "a transpose": lambda z: z.T * (2 - 1j),
    "columns": lambda z: z[:, 5] * z[:, 2].conj(),
    "steps": lambda z: (z.reshape(-1)[::6] * z.reshape(-1)[1::6]).real,
    "steps back": lambda z: z.reshape(-1)[::-7] + 1,
}


@pytest.mark.parametrize("name", ACROSS)
def test_what_lies_farther_apart_is_read_as_words_too(name):
    z = points(180, 2).reshape(45, 12)
    program = jax.jit(ACROSS[name])
    assert "tt_complex_of_word" in program.lower(z).as_text()
    with jax.disable_jit():
        want = np.asarray(ACROSS[name](jnp.asarray(z)))
    np.testing.assert_array_equal(program(z), want)
