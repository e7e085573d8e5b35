"""Complex numbers that are only moved are moved as words, their bits with them; and the largest of many is compiled."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import tinytrace as jax
from tinytrace import lax
from tinytrace import numpy as jnp
from tinytrace.core.trace import interpreting

MOVES = {
    "copy": lambda x: jnp.expand_dims(x, 0),
    "transpose": lambda x: x.T,
    "reverse": lambda x: lax.rev(x, (1,)),
    "concatenate": lambda x: jnp.concatenate([x[1:], x[:1]], 0),
    "slice": lambda x: x[::2, 1:],
    "repeat": lambda x: jnp.repeat(x, 2, axis=0),
    "several places": lambda x: jnp.tile(x.reshape(-1), 3),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_complex_number_that_is_moved_is_a_word(name):
    bits = np.random.default_rng(0).integers(0, 256, (40, 30, 8), dtype=np.uint8)
    x = bits.view(np.complex64)[..., 0]  # among them all kinds of NaN, whose bits stay
    program = jax.jit(MOVES[name])
    assert "((uint64_t *)" in program.lower(x).as_text()
    with interpreting():
        want = np.asarray(MOVES[name](jnp.asarray(x)))
    assert np.asarray(program(x)).tobytes() == np.ascontiguousarray(want).tobytes()


def test_what_is_computed_is_no_word():
    text = jax.jit(lambda x: (x.T + 1, x.real)).lower(np.ones((40, 30), np.complex64)).as_text()
    assert "((uint64_t *)" not in text


def test_what_is_stored_twice_and_read_otherwise_has_its_value():
    x = (np.arange(300) + 1j).astype(np.complex64)
    got = jax.jit(lambda x: (jnp.tile(x, 2), x.real, x * 2))(x)
    np.testing.assert_array_equal(got[0], np.tile(x, 2))
    np.testing.assert_array_equal(got[1], x.real)


@pytest.mark.parametrize("name", ["max", "min", "sum", "prod"])
def test_folds_of_complex_numbers_are_compiled(name):
    x = np.exp(1j * np.random.default_rng(0).random(1000)).astype(np.complex64)
    function = getattr(jnp, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # where the compiler fails, the interpreter goes on with a warning
        got = np.asarray(jax.jit(function)(x)), np.asarray(function(jnp.asarray(x)))
    want = getattr(np, name)(x.astype(np.complex128))
    assert got[0] == got[1]
    assert abs(got[0] - want) <= 1e-3 * abs(want)
