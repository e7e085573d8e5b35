"""Shrinking: what is left still fails, nothing more can be left out, and it runs as a file."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.examples import examples
from tinytrace import lax
from tinytrace.core.typecheck import check_jaxpr
from tinytrace.inspection.shrink import shrink
from tinytrace.testing.strategies import programs_with_arguments


def uses(*names):
    return lambda closed, *args: set(names) <= {eqn.primitive.name for eqn in closed.jaxpr.walk()}


def long_program(x, y):
    for _ in range(10):
        x = jnp.sin(x) * y + 1
    z = jnp.exp(x)
    for _ in range(10):
        z = jnp.tanh(z) - x
    return z, jnp.log(y), x.sum()


def test_one_equation_of_forty_is_found():
    closed = jax.make_jaxpr(long_program)(jnp.ones(3), jnp.ones(3))
    assert len(closed.eqns) > 40
    smallest = shrink(closed, uses("exp"))
    assert str(smallest) == "{ lambda ; a:f32[3]. let b:f32[3] = exp a in (b,) }"


def test_values_of_left_out_equations_are_kept():
    x, y = jnp.full(3, 0.5), jnp.full(3, 2.0)

    def large(closed, *args):
        return uses("exp")(closed) and any((np.asarray(out) > 8).any()
                                           for out in jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *args))
    closed = jax.make_jaxpr(long_program)(x, y)
    assert large(closed, x, y)
    smallest = shrink(closed, large, [x, y])
    assert [eqn.primitive.name for eqn in smallest.program.eqns] == ["exp"]
    (argument,) = smallest.args
    assert (np.exp(np.asarray(argument)) > 8).any()
    names = {}
    exec(compile(smallest.as_python(), "smallest.py", "exec"), names)
    (got,) = names["main"]()
    np.testing.assert_allclose(got, np.exp(np.asarray(argument)), rtol=1e-6)


def test_pairs_and_calls_and_bodies():
    step = jax.jit(lambda c: jnp.cos(jnp.sin(c)) * jnp.exp(c) + 1)

    def f(x):
        return lax.fori_loop(0, 3, lambda i, c: step(jnp.abs(c)) - 1, jnp.floor(x)).sum()
    closed = jax.make_jaxpr(f)(jnp.ones(3))
    assert [eqn.primitive.name for eqn in shrink(closed, uses("scan")).program.eqns] == ["scan"]
    smallest = shrink(closed, uses("exp"))
    assert len(list(smallest.program.jaxpr.walk())) <= 5
    check_jaxpr(smallest.program.jaxpr)


def test_simple_arguments_are_preferred():
    closed = jax.make_jaxpr(lambda x, y: jnp.exp(x) / y)(1.0, 2.0)
    smallest = shrink(closed, lambda c, *args: uses("div")(c), [1.5, 2.5])
    assert [float(x) for x in smallest.args] == [0.0, 0.0]


def test_what_does_not_fail_is_refused_and_errors_are_no_failures():
    closed = jax.make_jaxpr(jnp.sin)(1.0)
    with pytest.raises(ValueError, match="does not fail"):
        shrink(closed, uses("cos"))
    with pytest.raises(ValueError, match="does not fail"):
        shrink(closed, lambda c: 1 / 0)


@examples(100, fast=15)
@given(programs_with_arguments(), st.data())
def test_what_is_left_is_well_typed_and_fails(case, data):
    program, arguments = case
    closed = jax.make_jaxpr(program.function())(*arguments)
    names = sorted({eqn.primitive.name for eqn in closed.eqns})
    if names:
        name = data.draw(st.sampled_from(names))
        smallest = shrink(closed, uses(name), [jnp.asarray(x) for x in arguments])
        check_jaxpr(smallest.program.jaxpr)
        assert uses(name)(smallest.program)
        assert len(smallest.program.eqns) == 1
