"""Loops carry what one turn after the other would compute again, where that pays; and nothing else."""
import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.jaxpr import subjaxprs
from tinytrace.core.trace import interpreting
from tinytrace.passes.simplify import simplify

DRAWN = np.random.RandomState(0)
A, V = DRAWN.rand(40, 40).astype("float32"), DRAWN.rand(40).astype("float32") + 1
A = A @ A.T / 40 + np.eye(40, dtype="float32")


def inside(f, *args):
    """The names of what the loops of a program do."""
    program = simplify(jax.make_jaxpr(f)(*args)).jaxpr
    return [inner.primitive.name for eqn in program.eqns for body in subjaxprs(eqn.params) for inner in body.eqns]


def conjugate_gradients(a, b):
    def turn(s):
        x, r, p, k = s
        ap = a @ p
        step = (r @ r) / (p @ ap)
        rest = r - step * ap
        return x + step * p, rest, rest + (rest @ rest) / (r @ r) * p, k + 1

    return lax.while_loop(lambda s: (s[1] @ s[1] > 1e-3) & (s[3] < 30), turn, (b * 0, b, b, 0))


def newton(a, b):
    return lax.while_loop(lambda x: jnp.abs(jnp.exp(x) - b).max() > 1e-4,
                          lambda x: x - (jnp.exp(x) - b) / jnp.exp(x), b * 0 + 1)


def descent(a, b):
    slope = jax.grad(lambda x: x @ a @ x / 2 - b @ x)
    return lax.while_loop(lambda x: jnp.abs(slope(x)).max() > 1e-3, lambda x: x - 0.05 * slope(x), b)


def iterations(a, c):
    def turn(s, _):
        z, n = s
        z = jnp.where(jnp.abs(z) < 2, z * z + c, z)
        return (z, n + (jnp.abs(z) < 2)), None

    return lax.scan(turn, (c * 0, jnp.zeros(c.shape, int)), None, length=20)[0]


def mapped(a, b):
    return jax.vmap(lambda x: lax.while_loop(lambda x: jnp.sin(x) + jnp.exp(-x) < 0.9, lambda x: x * 0.9, x))(b)


def mapped_with_sums(a, b):
    """Elements that end after different turns, and sums over other axes than theirs."""
    return jax.vmap(lambda end: lax.while_loop(lambda x: (a @ jnp.sin(x)).sum() > end,
                                               lambda x: x * 0.8 + 0.01 * (a @ jnp.sin(x)), b))(b[:3] * 100)


def two_ago(a, b):
    """What was the next one's is the one's before, so that both are carried."""
    def turn(s, _):
        x, y = s
        z = jnp.sin(x) - jnp.sin(y) / 2
        return (y, z), jnp.sin(z).sum()

    return lax.scan(turn, (b, b * 2), None, length=7)


def seldom(a, b):
    """No turn at all."""
    return lax.while_loop(lambda x: jnp.sin(x).sum() > 1e3, lambda x: jnp.sin(x) * 2, b)


@pytest.mark.parametrize(("loop", "name", "times"), [
    (conjugate_gradients, "dot_general", 3), (newton, "exp", 1), (descent, "dot_general", 2), (iterations, "sqrt", 1),
    (mapped, "exp", 1), (mapped_with_sums, "dot_general", 2), (two_ago, "sin", 1), (seldom, "sin", 1)])
def test_what_comes_again_is_carried(loop, name, times):
    b = (V + 1j * V[::-1] - 2).astype("complex64") if loop is iterations else V
    assert inside(loop, A, b).count(name) == times
    with interpreting():
        want = loop(jnp.asarray(A), jnp.asarray(b))
    for x, y in zip(jax.tree.leaves(jax.jit(loop)(A, b)), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("loop", [
    lambda a, b: lax.while_loop(lambda x: (x * x).sum() > 9, lambda x: x * x * 0.99, b),  # cheap
    lambda a, b: lax.while_loop(lambda x: jnp.exp(x[0]) > 9, lambda x: x * jnp.exp(x[0]), b),  # one number
    lambda a, b: lax.scan(lambda x, y: (x + y + jnp.exp(y), None), b, a)[0],  # not of carries
    lambda a, b: lax.scan(lambda x, y: (jnp.exp(x) + jnp.exp(x + a[0]), None), b, a)[0],  # not of the next ones
])
def test_what_costs_little_or_differs_is_computed_where_it_stands(loop):
    program = simplify(jax.make_jaxpr(lambda a, b: loop(a, b))(A, V)).jaxpr
    assert [len(eqn.outvars) for eqn in program.eqns if list(subjaxprs(eqn.params))] == [1]


def test_hosts_are_called_as_often_as_the_loop_says():
    calls = []

    def counted(x):
        calls.append(1)
        return np.asarray(x) * 2

    def slope(x):
        return jax.pure_callback(counted, jax.ShapeDtypeStruct((40,), "float32"), x)

    loop = jax.jit(lambda b: lax.while_loop(lambda x: slope(x).sum() > 1, lambda x: x - slope(x) / 4, b))
    loop(V).block_until_ready()
    assert len(calls) == 2 * 7 + 1


def test_gradients_and_maps_of_such_loops():
    def loss(b):
        return (iterations(A, b + 0.5j)[0].real ** 2).sum()

    with interpreting():
        want = jax.grad(loss)(jnp.asarray(V / 3))
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(V / 3), want, rtol=1e-4, atol=1e-5)
    many = jax.jit(jax.vmap(lambda b: newton(A, b)))(np.stack([V, V + 1]))
    np.testing.assert_allclose(many, np.log(np.stack([V, V + 1])), rtol=1e-4, atol=1e-5)
