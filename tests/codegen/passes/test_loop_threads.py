"""Loops around programs: which run on several threads, that they compute the same, and that nothing is shared."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tests.meanings import in_numpy
from tinytrace import lax
from tinytrace.codegen.ir.evaluation import KernelError
from tinytrace.codegen.ir.independence import shared_by_iterations
from tinytrace.codegen.ir.kernel import Repeat, inner_programs
from tinytrace.codegen.ir.verifier import verify
from tinytrace.records import replace

X = np.random.default_rng(0).standard_normal((300, 600)).astype(np.float32)


def loops(kernels):
    for kernel in kernels:
        if isinstance(kernel, Repeat):
            yield kernel
        for program in inner_programs(kernel):
            yield from loops(program)


def a_temporary(x):
    return lax.map(lambda row: jnp.cumsum(jnp.sin(row)) / jnp.sum(row * row), x)


def elements(x):
    return lax.map(lambda row: (jnp.sum(jnp.cumsum(row)), jnp.argmax(jnp.cumsum(row)[::-1])), x)


def a_loop_inside(x):
    def settle(row):
        return lax.while_loop(lambda y: jnp.any(y > 1), lambda y: jnp.cumsum(y)[::-1] / 900, jnp.abs(row))

    return lax.map(settle, x)


def a_choice_inside(x):
    return lax.map(lambda row: lax.cond(row[0] > 0, lambda y: jnp.cumsum(y), lambda y: jnp.exp(y)[::-1], row), x)


def backwards(x):
    return lax.scan(lambda _, row: (None, jnp.cumsum(row) / row[3]), None, x, reverse=True)[1]


def what_others_made(x):
    mean = jnp.sum(x)
    first = jnp.cumsum(x[0])
    return lax.map(lambda row: jnp.cumsum(row * first) + mean, x), first


def inside_a_loop_with_a_carry(x):
    return lax.fori_loop(0, 2, lambda _, y: lax.map(lambda row: jnp.cumsum(row) / 600, y), x)


def a_carry(x):
    return lax.scan(lambda total, row: (total + jnp.cumsum(row), jnp.sum(total)), x[0], x)


def a_scalar_carry(x):
    return lax.scan(lambda total, row: (total + jnp.sum(jnp.cumsum(row)), row * total), 0.0, x)


def an_array_too_large(x):
    return lax.map(lambda k: jnp.cumsum(jnp.tile(x[k], 80))[::7], jnp.arange(300))


def too_little(x):
    return lax.map(lambda row: jnp.cumsum(row[:3]), x)


SPREAD = [a_temporary, elements, a_loop_inside, a_choice_inside, backwards, what_others_made,
          inside_a_loop_with_a_carry]
OTHERS = [a_carry, a_scalar_carry, an_array_too_large, too_little]


@pytest.mark.parametrize("function", SPREAD + OTHERS)
def test_which_loops_are_spread(function):
    kernels = jax.jit(function).lower(X).kernels
    assert any(loop.grain for loop in loops(kernels)) == (function in SPREAD)


@pytest.mark.parametrize("function", SPREAD + OTHERS)
def test_they_compute_the_same(function):
    expected = in_numpy(function, X)
    for got, wanted in zip(jax.tree.leaves(jax.jit(function)(X)), expected, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("function", SPREAD)
def test_the_verifier_wants_arrays_of_their_own(function):
    kernels = list(jax.jit(function).lower(X).kernels)
    verify(kernels)
    for k, kernel in enumerate(kernels):
        if isinstance(kernel, Repeat) and kernel.private:
            with pytest.raises(KernelError):
                verify([*kernels[:k], replace(kernel, private=()), *kernels[k + 1:]])


@pytest.mark.parametrize("function", [a_carry, a_scalar_carry])
def test_the_verifier_finds_what_is_carried(function):
    kernels = list(jax.jit(function).lower(X).kernels)
    with pytest.raises(KernelError, match="share"):
        verify([replace(kernel, grain=4) if isinstance(kernel, Repeat) else kernel for kernel in kernels])


def test_slices_of_different_lengths_of_one_array_meet():
    loop, = loops(jax.jit(a_temporary).lower(X).kernels)
    source, target = loop.views
    assert not shared_by_iterations(loop)
    one = replace(loop, views=[replace(source, base=target.base), target])
    assert target.base not in shared_by_iterations(one)
    two = replace(loop, views=[replace(source, base=target.base, step=300), target])
    assert target.base in shared_by_iterations(two)


STEPS = {"cumsum": jnp.cumsum, "reverse": lambda y: y[::-1], "tanh": jnp.tanh,
         "centre": lambda y: y - jnp.sum(y) / y.size, "neighbour": lambda y: y + jnp.roll(y, 1),
         "largest": lambda y: y / (1 + jnp.max(jnp.abs(y))), "update": lambda y: y.at[3].set(y[-1] * 2)}


@pytest.mark.not_quick
@examples(10)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6), st.booleans(), st.integers(2, 70))
def test_drawn_programs_compute_row_by_row_what_they_compute_alone(names, keeps_sum, rows):
    def step(row):
        for name in names:
            row = STEPS[name](row)
        return (row, jnp.sum(row)) if keeps_sum else row

    x = np.resize(X, (rows, 500))
    alone = jax.jit(step)
    got = jax.tree.leaves(jax.jit(lambda x: lax.map(step, x))(x))
    for k in (0, rows // 2, rows - 1):
        for result, expected in zip(got, jax.tree.leaves(alone(x[k])), strict=True):
            np.testing.assert_allclose(result[k], expected, rtol=1e-4, atol=1e-4)
