"""Lanes of mapped loops that nobody needs stop; the results that are needed stay."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.simplify import simplify

X = np.linspace(-2, 2, 40, dtype=np.float32)


def turns(x):
    """How often a loop runs: once for each unit of x."""
    return lax.while_loop(lambda s: s[0] < x, lambda s: (s[0] + 1, s[1] * 1.5), (jnp.float32(0), x))


def masks(function, *xs):
    """Return how many masks the loops ask; the values are the same."""
    before = jax.make_jaxpr(function)(*xs)
    after = simplify(before)
    check_jaxpr(after)
    assert str(simplify(after)) == str(after)
    with interpreting():
        want, got = (jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *xs) for closed in (before, after))
    compiled = jax.tree_util.tree_leaves(jax.jit(function)(*xs))
    for x, y, z in zip(want, got, compiled, strict=True):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_allclose(z, x, rtol=1e-6)
    return sum(x.aval.dtype == bool for eqn in after.eqns if eqn.primitive.name == "while"
               for x in eqn.invars[:eqn.params["cond_nconsts"]])


def mapped(function):
    return lambda *xs: jax.vmap(function)(*xs)


def known_late(x):
    total = turns(x)[1] * 2
    return jnp.where(jnp.exp(x) > 1, total, 0)


@pytest.mark.parametrize(("function", "expected"), [
    (mapped(lambda x: lax.cond(x > 0, lambda x: turns(x)[1], lambda x: -x, x)), 1),
    (mapped(lambda x: lax.cond(x > 0, lambda x: -x, lambda x: turns(-x)[1], x)), 1),
    (mapped(lambda x: lax.cond(x > 0, lambda x: turns(x)[1], lambda x: turns(x + 4)[0], x)), 2),
    (mapped(lambda x: jnp.where(x > 1, jnp.where(x > 1.5, turns(x)[1] + 1, 0), 1)), 2),
    (mapped(known_late), 1),
    (mapped(lambda x: jnp.where(x > 0, sum(turns(x)), 0)), 1),
    # Needed on both sides, or by others; what chooses depends on the loop; one predicate for all.
    (mapped(lambda x: [t := turns(x), jnp.where(x > 0, t[1], t[0])][1]), 0),
    (mapped(lambda x: [t := turns(x), jnp.where(x > 0, t[1], 0) + t[0]][1]), 0),
    (mapped(lambda x: [y := turns(x)[1], jnp.where(y > 0, y, 0)][1]), 0),
    (lambda x: jnp.where(x > 0, lax.fori_loop(0, jnp.int32(x[0] + 5), lambda k, y: y * x, x), 0), 0)])
def test_of_each_loop(function, expected):
    assert masks(function, X) == expected


def test_a_series_that_does_not_converge_where_it_is_not_chosen_does_not_run():
    def series(x):
        return lax.while_loop(lambda s: (s[0] < 1000) & (s[1] == s[1]), lambda s: (s[0] + 1, s[1] / x), (0, x))[1]

    jaxpr = simplify(jax.make_jaxpr(mapped(lambda x: lax.cond(x > 9, series, jnp.exp, x)))(X))
    loop, = (eqn for eqn in jaxpr.eqns if eqn.primitive.name == "while")
    turns, _ = loop.primitive.impl(*(np.zeros(x.aval.shape, x.aval.dtype) for x in loop.invars), **loop.params)
    assert not np.any(turns)
