"""Positions that are carried through a sort are the order that it finds; all other operands are carried."""
import functools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.simplify import simplify
from tinytrace.primitives.sorted_positions import sort_with_positions_p

LINE = np.random.default_rng(0).integers(-9, 9, 300).astype(np.float32)
ROWS = np.random.default_rng(1).integers(-9, 9, (4, 50)).astype(np.int32)


def iota(shape, dimension, dtype=np.int32):
    return lax.broadcasted_iota(dtype, shape, dimension)


def lowered(function, *args):
    closed = simplify(jax.make_jaxpr(function)(*args))
    check_jaxpr(closed)
    assert str(simplify(closed)) == str(closed)
    return [eqn.primitive.name for eqn in closed.eqns]


def holds(function, *args):
    with interpreting():
        want = function(*args)
    for one, other in zip(jax.tree.leaves(jax.jit(function)(*args)), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("function", "x"), [
    (jnp.argsort, LINE), (jnp.argsort, ROWS), (lambda x: jnp.argsort(x + 1j), LINE),
    (lambda x: lax.sort((x, iota(x.shape, 0)), num_keys=1), LINE),
    (lambda x: lax.sort((x, -x, iota(x.shape, 0), x + 1), num_keys=2)[2:], LINE),
    (lambda x: lax.sort((x, iota(x.shape, 0), iota(x.shape, 0) + 1))[1:], LINE),
    (lambda x: lax.sort((x, iota(x.shape, 1), iota(x.shape, 0))), ROWS), (jax.vmap(jnp.argsort), ROWS)])
def test_an_operand_that_counts_along_the_axis_is_not_carried(function, x):
    found = lowered(function, x)
    assert "sort_with_positions" in found
    assert "sort" not in found
    holds(function, x)


@pytest.mark.parametrize(("function", "x"), [
    (jnp.sort, LINE), (lambda x: jnp.argsort(x, 0), ROWS), (lambda x: jnp.argsort(x, descending=True), LINE),
    (lambda x: lax.sort((x, iota(x.shape, 0))), ROWS),
    (lambda x: lax.sort((x, iota(x.shape, 0) + 1)), LINE), (lambda x: lax.sort((iota(x.shape, 0), x)), LINE),
    (lambda x: lax.sort((x, iota(x.shape, 0)), num_keys=2), LINE),
    (lambda x: lax.sort((x, iota(x.shape, 0, np.float32))), LINE),
    (lambda x: lax.sort((x, lax.broadcast_in_dim(iota((4,), 0), (4, 4), (0,)))), ROWS[:, :4]),
    (lambda x: lax.sort((x, lax.broadcast_in_dim(iota((1,), 0), (300,), (0,)))), LINE)])
def test_other_operands_are(function, x):
    found = lowered(function, x)
    assert "sort" in found
    assert "sort_with_positions" not in found
    holds(function, x)


def test_nobody_reads_the_positions():
    def function(x):
        return lax.sort((x, 2 * x, iota(x.shape, 0)))[1]

    assert "sort_with_positions" in lowered(function, LINE)
    holds(function, LINE)


def test_an_operand_that_vmap_does_not_batch_is_repeated():
    @jax.jit
    def batched(keys, values):
        return jax.vmap(functools.partial(sort_with_positions_p.bind, num_keys=1), (0, None))(keys, values)

    for one, row in zip(batched(ROWS, LINE[:50])[1], ROWS, strict=True):
        np.testing.assert_array_equal(one, LINE[:50][np.argsort(row, kind="stable")])


def test_a_gradient_reads_the_order():
    def weighted(x):
        return jnp.sum(jnp.sort(x) * jnp.arange(x.size))

    got = jax.jit(jax.grad(weighted))(LINE)
    np.testing.assert_array_equal(np.asarray(got)[np.argsort(LINE, kind="stable")], np.arange(LINE.size))
