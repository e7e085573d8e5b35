"""Masks of bits are in variables that compilers know nothing of, where a loop tests several side by side."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.meanings import in_numpy
from tinytrace.core.trace import interpreting

HIDDEN = "not known: masks.py"
X = np.random.default_rng(0).integers(0, 1 << 31, 1003).astype(np.uint32)


def bits(n):
    return lambda x: (x[:, None] & (jnp.ones((), x.dtype) << jnp.arange(n, dtype=x.dtype))) != 0


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32, np.uint32])
def test_bits_are_those_of_numpy(dtype):
    """Each function has numbers of its own, and so loops of its own, in one program."""
    functions = [
        bits(8), bits(16), lambda x: jnp.unpackbits(x.astype(jnp.uint8)),
        lambda x: jnp.unpackbits(x.astype(jnp.uint8), bitorder="little"),
        lambda x: jnp.unpackbits(x.astype(jnp.uint8)[:1000].reshape(10, 100), axis=1, count=333)]

    def program(*xs):
        return [function(x) for function, x in zip(functions, xs, strict=True)]

    xs = [X.astype(dtype)] * len(functions)
    for got, want in zip(jax.tree.leaves(jax.jit(program)(*xs)), in_numpy(program, *xs), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("function", "hidden"), [
    (bits(8), 1), (bits(16), 1), (lambda x: jnp.unpackbits(x.astype(jnp.uint8)), 8),
    (bits(3), 0),
    (lambda x: x[:, None] ** jnp.arange(10, dtype=x.dtype), 0), (lambda x: x & 7, 0),
    (lambda x: x[:, None] & x[:16], 0), (bits(40), 0)])
def test_which_masks_are_hidden(function, hidden):
    assert jax.jit(function).lower(X).as_text().count(HIDDEN) == hidden


C = (X[:600] / 2.0 ** 30 - 1 + 1j * (X[1:601] / 2.0 ** 30 - 1)).astype(np.complex64).reshape(6, 100)
SPECIAL = np.array([0, np.inf, np.nan, -0.0 + 1j, np.inf * 1j, 2], np.complex64)
ROWS = {
    "a quotient by a number": lambda x: x / x[3, 5], "quotients by rows": lambda x: x / x[:, :1],
    "a choice for a row": lambda x: jnp.where((x[:, :1].real > 0) & (x[:, 1:2].real < 0.5), x, 2 * x),
    "of bytes": lambda x: jnp.where((x[:, :1].real > 0) | (x[:, 1:2].real < 0), x.real > 1, x.imag > 1),
}


@pytest.mark.parametrize("name", ROWS)
def test_truth_values_of_rows_choose_in_vectors(name):
    assert "_flag != 0.0f)" in jax.jit(ROWS[name]).lower(C).as_text()
    x = np.concatenate([C, C])
    x[:6, 0] = x[6:, 50] = SPECIAL
    with interpreting():
        want = np.asarray(ROWS[name](jnp.asarray(x)))
    np.testing.assert_allclose(jax.jit(ROWS[name])(x), want, rtol=1e-6)


def test_comparisons_choose_as_they_are():
    assert "_flag" not in jax.jit(lambda x: jnp.where(x[:, :1].real > 0, x, 2 * x)).lower(C).as_text()
