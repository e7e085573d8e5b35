"""`lax.reduce` folds from the initial value, element by element, also where that matters (docs/differences.md)."""

import functools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax

# Integers, so that every order but the stated one gives another number, and none gives another rounding.
FUNCTIONS = {
    "minus": lambda a, b: a - b,
    "minus, the other way": lambda a, b: b - a,
    "twice the first": lambda a, b: a * 2 + b,
    "the first": lambda a, b: a + b * 0,
    "the last": lambda a, b: b + a * 0,
}


@pytest.mark.parametrize("length", [0, 1, 2, 40, 3000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_from_the_initial_value_element_by_element(name, length):
    function = FUNCTIONS[name]
    rows = np.random.default_rng(length).integers(-100, 100, (2, length)).astype(np.int32)
    with np.errstate(over="ignore"):
        expected = [functools.reduce(function, row, np.int32(5)) for row in rows]

    def fold(x, axis):
        return lax.reduce(x, np.int32(5), function, (axis,))

    @jax.jit
    def folds(rows):
        return (fold(rows, 1), fold(rows.T, 0), jax.vmap(lambda row: fold(row, 0))(rows),
                jnp.stack([fold(row, 0) for row in rows]))

    for result in (fold(rows, 1), *folds(rows)):
        np.testing.assert_array_equal(result, expected)
