"""Loops around elementwise kernels: which become loops over points, and that they compute what they computed."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.meanings import in_numpy
from tinytrace import lax
from tinytrace.codegen.ir.kernel import Nest, Repeat, inner_programs

N = 1000


def repeats(kernels):
    return sum(isinstance(k, Repeat) + sum(map(repeats, inner_programs(k))) for k in kernels)


def two_kernels(table, x):
    def step(k, state):
        low, high = state
        middle = (low + high) // 2
        right = table[middle] < x
        return jnp.where(right, middle, low), jnp.where(right, high, middle)

    return lax.fori_loop(0, 6, step, (jnp.zeros(x.shape, int), jnp.full(x.shape, 40)))


def scalars_of_an_array(p, x):
    return lax.scan(lambda y, c: (y * x + c, None), jnp.zeros_like(x), p)[0]


def slices_that_move(table, x):
    return lax.scan(lambda y, row: (jnp.sin(y) + row, y * row), x, jnp.stack([x * k for k in range(5)]))


def a_neighbour(table, x):
    return lax.fori_loop(0, 6, lambda k, y: y + jnp.roll(y, 1), x)


def a_sum(table, x):
    return lax.fori_loop(0, 6, lambda k, y: y / (1 + jnp.sum(y * y)), x)


def an_element_of_the_state(table, x):
    return lax.fori_loop(0, 6, lambda k, y: y + y[3] * table[k], x)


def two_extents(table, x):
    return lax.fori_loop(0, 6, lambda k, state: (state[0] * 2 + 1, state[1] - 3), (table, x))


POINTWISE = [two_kernels, scalars_of_an_array, slices_that_move]
OTHERS = [a_neighbour, a_sum, an_element_of_the_state, two_extents]


@pytest.mark.parametrize("function", POINTWISE + OTHERS)
def test_which_loops_are_interchanged(function):
    numbers = np.random.default_rng(0)
    table = jnp.asarray(np.sort(numbers.standard_normal(41)).astype(np.float32))
    x = jnp.asarray(numbers.standard_normal(N).astype(np.float32))
    lowered = jax.jit(function).lower(table, x)
    kernels = lowered.kernels
    assert repeats(kernels) == (function in OTHERS)
    assert function in OTHERS or any(isinstance(kernel, Nest) for kernel in kernels)
    for got, wanted in zip(jax.tree.leaves(jax.jit(function)(table, x)), in_numpy(function, table, x),
                           strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)
