"""Long chains are cut into several loops, nothing is computed twice for it, and the results are the same."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.meanings import in_numpy
from tinytrace.codegen.plan.chain_splitting import LONGEST, MOST_ENDS

X = np.arange(-50, 50, dtype=np.int32)


def kernels(function, *args):
    """The sizes of the kernels of a compiled function that computes what NumPy computes."""
    np.testing.assert_array_equal(jax.jit(function)(*args), in_numpy(function, *args)[0])
    return [len(kernel.equations) for kernel in jax.jit(function).lower(*args).kernels]


def chain(x, n):
    for k in range(n // 2):
        x = (x ^ k) * 3
    return x


@pytest.mark.parametrize("n", [LONGEST - 2, 2 * LONGEST, 4 * LONGEST])
def test_a_chain_is_cut_into_parts_of_one_length(n):
    sizes = kernels(lambda x: chain(x, n), X)
    assert sum(sizes) == n
    assert sizes == [n] if n < LONGEST else [LONGEST] * (n // LONGEST)


def test_what_is_left_of_a_chain_is_no_loop_of_its_own():
    assert kernels(lambda x: chain(x, 2 * LONGEST + 10), X) == [LONGEST, LONGEST + 10]


def test_what_both_sides_of_a_cut_need_is_computed_once():
    def coupled(x, y):
        for k in range(LONGEST):
            x, y = x * 3 + y, y ^ k
        return x - y

    sizes = kernels(coupled, X, X[::-1])
    assert len(sizes) > 1
    assert sum(sizes) == 3 * LONGEST + 1


def test_cheap_values_are_not_kept_for_it():
    def shifted(x):
        y = x + 1
        return chain(x, 2 * LONGEST) + y

    assert kernels(shifted, X) == [LONGEST, LONGEST + 2]


@pytest.mark.slow
def test_a_chain_is_cut_where_few_values_are_needed():
    def wide(x):
        xs = [(x ^ k) * 5 + (x * k ^ 77) for k in range(MOST_ENDS + 2)]
        for k in range(LONGEST):
            xs = [y * 3 + z ^ k for y, z in zip(xs, xs[1:] + xs[:1], strict=True)]
        return chain(sum(xs), 2 * LONGEST)

    sizes = kernels(wide, X)
    assert sizes[0] > LONGEST
    assert len(sizes) == 3


@pytest.mark.slow
def test_ten_thousand_equations():
    def long(x):
        return jnp.sin(chain(x, 10_000) % 1000 * 1e-3)

    compiled = jax.jit(long)(X)
    np.testing.assert_allclose(compiled, np.sin(np.asarray(chain(X, 10_000)) % 1000 * 1e-3), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("times", [1, 8, 40])
def test_what_only_has_an_effect_ends_no_chain(times):
    """It has no results: `jax.debug.print` between operations that are dear to compute again."""
    seen = []

    def watched(x, watch=lambda x: jax.debug.callback(seen.append, x, ordered=True)):
        for _ in range(times):
            x = jnp.sin(jnp.exp(jnp.cos(x))) + x
            watch(x[0])
        return x

    x = jnp.linspace(0, 1, 100)
    got = jax.jit(watched)(x)
    jax.effects_barrier()
    assert len(seen) == times
    np.testing.assert_allclose(got, jax.jit(lambda x: watched(x, lambda x: None))(x), rtol=1e-5)
    assert seen[-1] == got[0]
