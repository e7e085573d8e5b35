"""Calls of a function of which no element needs both become one call; all others stay."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.core.trace import interpreting
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.passes.simplify import simplify

X, Y, Z = np.random.default_rng(0).uniform(-2, 2, (3, 4, 4)).astype(np.float32)
where, log, exp = jnp.where, jnp.log, jnp.exp


def melded(function):
    """Return the names of what is left; the values are the same."""
    before = jax.make_jaxpr(function)(X, Y, Z)
    after = simplify(before)
    check_jaxpr(after)
    assert str(simplify(after)) == str(after)
    with interpreting(), np.errstate(invalid="ignore"):
        want, got = (jax.core.eval_jaxpr(closed.jaxpr, closed.consts, X, Y, Z) for closed in (before, after))
    for x, y in zip(want, got, strict=True):
        np.testing.assert_array_equal(x, y)
    return [eqn.primitive.name for eqn in after.eqns]


@pytest.mark.parametrize(("function", "name", "times"), [
    (lambda x, y, z: where(x > 0, log(y), log(z)), "log", 1),
    (lambda x, y, z: where(x > 0, where(y > 0, log(y), log(x)), log(z)), "log", 1),
    (lambda x, y, z: where(x > 0, -log(y).T.T * 2, where(y > 0, 1 - exp(y), exp(log(z)))), "exp", 1),
    (lambda x, y, z: where(x > 0, log(1 + exp(y)), log(1 + exp(z))), "exp", 1),
    (lambda x, y, z: where(x > 0, log(1 + exp(y)), log(1 + exp(z))), "log", 1),
    (lambda x, y, z: where(x > 0, log(y), log(z)) + where(x > 0, log(y), 1.0), "log", 1),
    (lambda x, y, z: where(x > 0, jnp.pow(y, z), jnp.pow(z, x)), "pow", 1),
    (lambda x, y, z: where(x[0, 0] > 0, log(y).sum(0), log(z).sum(0)), "log", 1),
    # Needed on both sides, of other elements, by others too; for an operand or a choice; cheap, or of fewer elements.
    (lambda x, y, z: where(x > 0, log(y), log(z)) + log(z), "log", 2),
    (lambda x, y, z: where(x > 0, log(y), where(y > 0, log(y), log(z))), "log", 2),
    (lambda x, y, z: where(x > 0, log(y).T, log(z).T), "log", 2),
    (lambda x, y, z: (where(x > 0, log(y), log(z)), log(y)), "log", 2),
    (lambda x, y, z: where(x > 0, log(y), log(log(y))), "log", 2),
    (lambda x, y, z: where(log(x) > 0, 1.0, log(z)), "log", 2),
    (lambda x, y, z: where(x > 0, y / z, z / y), "div", 2),
    (lambda x, y, z: where(x > 0, log(y), log(jnp.broadcast_to(z[0], z.shape))), "log", 2)])
def test_calls_of_which_one_is_needed_are_one(function, name, times):
    assert melded(function).count(name) == times


def test_what_reads_a_call_early_waits_for_it():
    def early(x, y, z):
        first = log(x) * 2
        return where(exp(y - 1) > z, first, log(exp(z)))

    assert melded(early) == ["sub", "exp", "gt", "exp", "select_n", "log", "mul", "select_n"]


def test_the_text_is_that_of_both_calls():
    assert str(jax.make_jaxpr(jax.scipy.special.log_ndtr)(X)).count(" erfc ") == 4
