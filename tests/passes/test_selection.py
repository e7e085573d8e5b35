"""Sorts of which a few neighbours are read become selections; all others stay."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.simplify import simplify

LINE = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
ROWS = np.random.default_rng(1).integers(-50, 50, (3, 4500)).astype(np.int32)


def lowered(function, *args):
    closed = simplify(jax.make_jaxpr(function)(*args))
    check_jaxpr(closed)
    assert str(simplify(closed)) == str(closed)
    return {eqn.primitive.name: eqn for eqn in closed.eqns}


@pytest.mark.parametrize(("function", "x", "first", "count"), [
    (jnp.median, LINE, 2499, 2), (jnp.median, LINE[:-1], 2499, 1), (lambda x: jnp.quantile(x, 0.9), LINE, 4499, 2),
    (jnp.median, LINE[:600], 299, 2), (jnp.median, LINE[:2049], 1024, 1),
    (lambda x: jnp.sort(x)[17], LINE, 17, 1), (lambda x: jnp.sort(x)[-10:], LINE, 4990, 10),
    (lambda x: jax.lax.slice(jnp.sort(x), (100,), (200,), (7,)), LINE, 100, 100),
    (lambda x: jnp.sort(x)[3] + jnp.sort(x)[:6].sum(), LINE, 0, 6),
    (lambda x: jnp.median(x, 1), ROWS, 2249, 2), (lambda x: jnp.median(x, 0), ROWS.T, 2249, 2),
    (lambda x: jnp.sort(x, 0)[7], ROWS.T, 7, 1), (jax.vmap(jnp.median), ROWS, 2249, 2)])
def test_a_few_neighbours_are_selected(function, x, first, count):
    found = lowered(function, x)
    assert "sort" not in found
    assert found["order_statistics"].params == {"first": first, "count": count}
    with interpreting():
        want = np.asarray(function(x))
    np.testing.assert_array_equal(jax.jit(function)(x), want)


@pytest.mark.parametrize("function", [
    lambda x: jnp.sort(x), lambda x: (jnp.sort(x)[3], jnp.sort(x)), lambda x: jnp.sort(x)[:1000],
    lambda x: jnp.sort(x)[0] + jnp.sort(x)[-1], lambda x: jnp.cumsum(jnp.sort(x))[3], lambda x: jnp.sort(x[:500])[3],
    lambda x: jax.lax.sort((x, x))[0][3], lambda x: jnp.sort(x + 1j)[3]])
def test_other_sorts_stay(function):
    found = lowered(function, LINE)
    assert "sort" in found
    assert "order_statistics" not in found


def test_a_place_that_is_not_known_is_not_selected():
    assert "sort" in lowered(lambda x, q: jnp.quantile(x, q), LINE, np.float32(0.3))


def test_the_gradient_of_a_median_is_that_of_the_element():
    middle = jax.jit(jax.grad(jnp.median))(LINE[:-1])
    assert np.flatnonzero(middle).tolist() == [int(np.argsort(LINE[:-1])[2499])]
