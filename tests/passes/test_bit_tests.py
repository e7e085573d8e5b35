"""Bits of bytes are asked for by masks, whatever the places are, and where that is the same."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.trace import interpreting
from tinytrace.passes.simplify import simplify

BYTES = np.arange(256)
PLACES = {"all": np.arange(8), "backwards": np.arange(7, -1, -1), "too far": np.arange(4, 12),
          "negative": np.arange(-3, 3)}


def primitives(function, *args):
    return [eqn.primitive.name for eqn in simplify(jax.make_jaxpr(function)(*args)).eqns]


@pytest.mark.pairs
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("shift", [lax.shift_right_logical, lax.shift_right_arithmetic])
def test_bits_are_those_that_are_shifted_down(name, dtype, shift):
    x, places = BYTES.astype(dtype), PLACES[name].astype(dtype)
    known = PLACES[name][0] + (PLACES[name][1] - PLACES[name][0]) * np.arange(len(places))
    assert known.tolist() == PLACES[name].tolist()

    def of_an_array(x, places):
        return shift(x[:, None], jnp.broadcast_to(places, (256, len(places)))) & 1

    def of_numbers(x):
        places = lax.iota(dtype, len(known)) * dtype(known[1] - known[0]) + dtype(known[0])
        return shift(x[:, None] + jnp.zeros((1, len(known)), dtype), jnp.broadcast_to(places, (256, len(known)))) & 1

    with interpreting():
        want = np.asarray(of_an_array(jnp.asarray(x), jnp.asarray(places)))
    np.testing.assert_array_equal(jax.jit(of_an_array)(x, places), want)
    np.testing.assert_array_equal(jax.jit(of_numbers)(x), want)


@pytest.mark.parametrize(("function", "by_masks"), [
    (lambda x: (x[:, None] >> jnp.arange(8, dtype=x.dtype)) & 1, True),
    (lambda x: lax.shift_right_arithmetic(x[:, None], lax.iota(x.dtype, 8)[None]) & 1, True),
    (lambda x: lax.shift_right_arithmetic(x[:, None], lax.iota(x.dtype, 9)[None]) & 1, False),
    (lambda x: (x[:, None] >> jnp.arange(8, dtype=x.dtype)) & 3, False),
    (lambda x: (x >> 3) & 1, False), (lambda x: (x[None] >> jnp.arange(8, dtype=x.dtype)[:, None]) & 1, False),
    (lambda x: (x >> x) & 1, False)])
def test_where_bits_are_asked_for_by_masks(function, by_masks):
    x = BYTES.astype(np.uint8)
    assert ("shift_left" in primitives(function, x)) == by_masks
    assert "shift_left" not in primitives(function, BYTES.astype(np.int32))
    with interpreting():
        want = np.asarray(function(jnp.asarray(x)))
    np.testing.assert_array_equal(jax.jit(function)(x), want)
