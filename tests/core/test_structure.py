"""The key under which equal jaxprs share a program: equal for what is the same, and for nothing else."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.program import shared_program
from tinytrace.core.structure import structure_of, typed
from tinytrace.runtime.ladder import stats

X = np.ones(3, np.float32)


def key(fun, *args):
    return structure_of(jax.make_jaxpr(fun)(*(args or (X,))).jaxpr)


def make_affine(a, b):
    return lambda x: jnp.sin(x * a) + b


def test_fresh_functions_are_equal():
    assert key(make_affine(2.0, 1.0)) == key(make_affine(2.0, 1.0))


OTHER_PROGRAMS = [
    (make_affine(2.0, 1.0), make_affine(2.0, 1.5)),
    (lambda x: x + 0.0, lambda x: x + -0.0),
    (lambda x: 1.0, lambda x: np.float32(1)),  # weak and strong
    (lambda x: x - x * 2, lambda x: x * 2 - x),
    (lambda x: (x, x + 1), lambda x: (x + 1, x)),
    (lambda x: x ** 2, lambda x: x ** 3),
    (lambda x: jnp.sum(x, axis=0), lambda x: jnp.max(x, axis=0)),
    (lambda x: lax.scan(lambda c, _: (c + 1, None), x, None, length=3),
     lambda x: lax.scan(lambda c, _: (c + 2, None), x, None, length=3)),
    (lambda x: jax.jit(jnp.sin)(x), lambda x: jax.jit(jnp.cos)(x)),
]
"""Pairs of programs that are alike, and not the same."""


@pytest.mark.parametrize(("one", "other"), OTHER_PROGRAMS)
def test_other_programs_have_other_keys(one, other):
    assert key(one) != key(other)
    assert key(one) == key(one)


def test_types_and_the_order_of_operands_matter():
    assert key(lambda x, y: x - y, X, X) != key(lambda x, y: y - x, X, X)
    assert key(lambda x: x + 1, X) != key(lambda x: x + 1, X.astype(np.int32))
    assert key(lambda x: x + 1, X) != key(lambda x: x + 1, np.ones(4, np.float32))


def test_literals_that_are_not_numbers_are_equal_by_their_bits():
    assert key(lambda x: x + np.nan) == key(lambda x: x + np.nan)
    assert key(lambda x: x + np.inf) != key(lambda x: x - np.inf)


def test_parameters_that_compare_as_equal_are_told_apart():
    values = [1, 1.0, True, np.int32(1), np.float32(1), 0.0, -0.0, np.float32(0), np.float32(-0.0), (1,), (1.0,), "1"]
    assert len({typed(x) for x in values}) == len(values)
    assert typed(float("nan")) == typed(float("nan"))


def test_constants_are_inputs():
    def closing_over(c):
        return lambda x: x * c + c

    results = [jax.jit(closing_over(jnp.full(3, float(i))))(X) for i in range(3)]
    np.testing.assert_array_equal(results, [[2 * i] * 3 for i in range(3)])
    assert key(closing_over(jnp.zeros(3))) == key(closing_over(jnp.ones(3)))
    for i in range(3):  # also on the way that does not go through Python, and where the result is the constant
        constant = jnp.full(3, float(i))
        f = jax.jit(lambda x, c=constant: (x + c, c, x))
        for _ in range(3):
            np.testing.assert_array_equal(f(jnp.asarray(X)), [[1 + i] * 3, [i] * 3, [1] * 3])


def test_programs_inside_that_hold_constants_have_no_key():
    c = jnp.arange(3.0)
    assert key(lambda x: lax.cond(x[0] > 0, lambda y: y + c, lambda y: y, x)) is not None  # hoisted
    assert key(lambda x: jax.jit(lambda y: y + c)(x)) is None


def test_a_fresh_lambda_asks_no_cache_for_its_code():
    def turn(x):
        return jax.jit(lambda x: jnp.tanh(x) * 3.25)(x)

    first = turn(X)
    before = stats.memory_hits, stats.disk_hits, stats.compiles
    for _ in range(3):
        np.testing.assert_array_equal(turn(X), first)
    assert (stats.memory_hits, stats.disk_hits, stats.compiles) == before


def test_functions_that_python_is_called_for_are_told_apart():
    seen = []

    def reports(name):
        def f(x):
            jax.debug.callback(lambda y: seen.append((name, float(y[0]))), x)
            return x + 1
        return f

    for name in "ab":
        jax.jit(reports(name))(X)
    assert seen == [("a", 1.0), ("b", 1.0)]


def test_exact_programs_are_other_programs():
    def f(x):
        return jax.jit(lambda x: x * x + x)(x)


    jaxpr = jax.make_jaxpr(f)(X).jaxpr
    before = jax.config.read("exact")
    programs = []
    try:
        for exact in (False, True):
            jax.config.update("tinytrace_exact", exact)
            programs.append(shared_program(jaxpr))
    finally:
        jax.config.update("tinytrace_exact", before)
    assert [p.exact for p in programs] == [False, True]
