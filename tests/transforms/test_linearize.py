"""Linearization and reverse mode: jvp, partial evaluation and transposition in a row."""

import functools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.transforms.linearize import linearize
from tinytrace.transforms.partial_eval import Unknown


def test_the_primal_computation_is_done_once():
    calls = []

    def f(x):
        calls.append(1)
        return jnp.sin(x) * x

    _, f_jvp = jax.linearize(f, 0.5)
    pushed = [f_jvp(t) for t in (1.0, 2.0, 3.0)]
    assert len(calls) == 1
    np.testing.assert_allclose(pushed, [jax.jvp(f, (0.5,), (t,))[1] for t in (1.0, 2.0, 3.0)], rtol=1e-6)


def test_the_linear_program_has_only_linear_equations():
    linearized = linearize(lambda x: [jnp.exp(jnp.sin(x)) * x], [np.float32(0.5)])
    assert {eqn.primitive.name for eqn in linearized.jaxpr.eqns} == {"mul", "add_any"}
    assert len(linearized.residuals) == len(linearized.jaxpr.constvars)


def test_outputs_that_do_not_move_are_not_in_the_program():
    linearized = linearize(lambda x: [x * 2.0, np.float32(3)], [np.float32(0.5)])
    assert isinstance(linearized.out_tangents[0], Unknown)
    assert linearized.out_tangents[1] == 0.0
    assert len(linearized.jaxpr.outvars) == 1
    assert linearized.push([np.float32(1)]) == [2.0, 0.0]
    assert linearized.pull([np.float32(1), np.float32(5)]) == [2.0]


def test_pullbacks_and_pushforwards_are_trees_of_their_residuals():
    _, pullback = jax.vjp(lambda x: jnp.sin(x), jnp.arange(3.0))
    leaves, tree = jax.tree_util.tree_flatten(pullback)
    np.testing.assert_allclose(leaves, [np.cos(np.arange(3.0))], rtol=1e-6)
    doubled = jax.tree_util.tree_unflatten(tree, [2 * x for x in leaves])
    np.testing.assert_allclose(doubled(jnp.ones(3))[0], 2 * np.cos(np.arange(3.0)), rtol=1e-6)
    through_jit = jax.jit(lambda pull, ct: pull(ct))(pullback, jnp.ones(3))
    np.testing.assert_allclose(through_jit[0], np.cos(np.arange(3.0)), rtol=1e-6)


@pytest.mark.not_quick
def test_pullbacks_compose_with_vmap_and_jvp():
    f = lambda x: jnp.tanh(x) @ jnp.ones((3, 2))  # noqa: E731
    x = jnp.array([0.1, -0.2, 0.3])
    _, pullback = jax.vjp(f, x)
    rows, = jax.vmap(pullback)(jnp.eye(2))
    np.testing.assert_allclose(rows, jax.jacrev(f)(x), rtol=1e-6)
    curvature = jax.jvp(lambda x: jax.vjp(f, x)[1](jnp.ones(2))[0], (x,), (jnp.ones(3),))[1]
    np.testing.assert_allclose(curvature, jax.hessian(lambda x: jnp.sum(f(x)))(x) @ np.ones(3), rtol=1e-5)


@pytest.mark.not_quick
def test_third_order_in_every_mixture():
    f = lambda x: jnp.sin(x) * x**2  # noqa: E731
    forward = lambda g: lambda x: jax.jvp(g, (x,), (1.0,))[1]  # noqa: E731
    x = 0.7
    expected = (6 - x**2) * np.cos(x) - 6 * x * np.sin(x)
    for outer in (jax.grad, forward):
        for middle in (jax.grad, forward, lambda g: jax.jit(jax.grad(g))):
            for inner in (jax.grad, forward):
                np.testing.assert_allclose(outer(middle(inner(f)))(x), expected, rtol=1e-4)


def test_the_linear_program_of_a_pushforward_and_of_a_pullback_can_be_read():
    """Where JAX keeps it: programs print it to see what is saved and what is computed again."""
    _, f_jvp = jax.linearize(lambda x: jnp.sin(x) * 2.0, 1.0)
    _, f_vjp = jax.vjp(lambda x: jnp.sin(x) * 2.0, 1.0)
    program, same = f_jvp.func.args[0], f_vjp.args[0].func.args[1]
    assert str(program) == str(same)
    assert {eqn.primitive.name for eqn in program.eqns} == {"mul"}
    partial = jax.tree_util.Partial(functools.partial(max, 3, key=abs), 2)
    assert (partial.func.func, partial.func.args, partial.func.keywords) == (max, (3,), {"key": abs})
    assert partial(-5) == -5
