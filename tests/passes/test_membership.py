"""Folds of comparisons of all pairs become looks at a table; all others stay."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.simplify import simplify

RNG = np.random.default_rng(0)
X, Y = (RNG.integers(0, 900, n).astype(np.float32) for n in (400, 300))
ROWS, OTHERS = RNG.integers(0, 900, (3, 400)).astype(np.int32), RNG.integers(0, 900, (3, 300)).astype(np.int32)
LEAVES = RNG.integers(0, 900, (2, 3, 400)).astype(np.int32)


def lowered(function, *args):
    closed = simplify(jax.make_jaxpr(function)(*args))
    check_jaxpr(closed)
    assert str(simplify(closed)) == str(closed)
    return [eqn.primitive.name for eqn in closed.eqns]


def pairs(x, y):
    """Compare the last axis of `x`, before others, with the first of `y`, behind which others are."""
    return (x[..., :, None, None] == y[:, :]).any(-2)


@pytest.mark.parametrize(("function", "args", "steps"), [
    (jnp.isin, (X, Y), ["is_member"]), (lambda x, y: jnp.isin(x, y, invert=True), (X, Y), ["is_member", "not"]),
    (lambda x, y: (x[:, None] == y).any(1), (X, Y), ["is_member"]),
    (lambda x, y: (y == x[:, None]).any(1), (X, Y), ["is_member"]),
    (lambda x, y: (x[:, None] == y).any(0), (X, Y), ["is_member"]),
    (lambda x, y: (x[:, None] != y).all(1), (X, Y), ["is_member", "not"]),
    (lambda x, y: jnp.isin(x.astype(jnp.float8_e5m2), y.astype(jnp.float8_e5m2)), (X, Y), None),
    (jax.vmap(jnp.isin), (ROWS, OTHERS), ["is_member"]),
    (jax.vmap(jnp.isin, (0, None)), (ROWS, OTHERS[0]), ["is_member"]),
    (jax.vmap(jnp.isin, (None, 0)), (ROWS[0], OTHERS), ["broadcast_in_dim", "is_member"]),
    (jax.vmap(jnp.isin, 1, 1), (ROWS.T, OTHERS.T), ["transpose", "transpose", "is_member", "transpose"]),
    (lambda x, y: jnp.isin(x, y).sum(), (LEAVES, OTHERS), None),
    (lambda x, y: (x[:, :, None, :, None] == y[:, None, :]).any((2, 4)), (LEAVES, OTHERS), None),
    (pairs, (LEAVES, OTHERS.T), None)])
def test_members_are_looked_up(function, args, steps):
    found = lowered(function, *args)
    assert found == steps if steps else "is_member" in found
    with interpreting():
        want = np.asarray(function(*args))
    np.testing.assert_array_equal(jax.jit(function)(*args), want)


@pytest.mark.parametrize("function", [
    lambda x, y: jnp.isin(x, y[:100]), lambda x, y: jnp.isin(x[:100], y), lambda x, y: jnp.isin(x, 3.0),
    lambda x, y: (x[:, None] == y).all(1), lambda x, y: (x[:, None] != y).any(1), lambda x, y: (x[:, None] <= y).any(1),
    lambda x, y: (x[:, None] == y).sum(1), lambda x, y: (x[:300] == y).any(), lambda x, y: (x[:, None] == y).any(),
    lambda x, y: ((pairs := x[:, None] == y).any(1), pairs), lambda x, y: (jnp.outer(x, y) == y).any(1)])
def test_other_comparisons_stay(function):
    assert "is_member" not in lowered(function, X, Y)


def test_the_text_is_that_of_all_pairs():
    assert "is_member" not in str(jax.jit(jnp.isin).trace(X, Y).jaxpr)
