"""Forward mode: pairs, symbolic zeros, nesting, custom rules, and the end of a trace."""

import gc
import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import dtypes, errors, lax
from tinytrace.core.tangents import Zero
from tinytrace.transforms.jvp import JVPTrace, jvp, jvp_jaxpr
from tinytrace.transforms.staging import trace_to_closed_jaxpr

F32 = jax.make_jaxpr(lambda x: x)(np.float32(0)).in_avals[0]


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


def test_a_value_that_does_not_move_is_a_plain_value():
    seen = []

    def f(x, y):
        seen.extend([x, y, x + y, y * 2])
        return [x * y]

    jvp(f, [1.0, 2.0], [1.0, Zero.from_primal_value(2.0)])
    assert [isinstance(value, jax.core.Tracer) for value in seen] == [True, False, True, False]


def test_no_zeros_are_made_for_tangents_that_are_zero():
    closed = jax.make_jaxpr(lambda x, y: jax.jvp(lambda x: (x * y + jnp.sin(y)) / y, (x,), (1.0,)))(1.0, 2.0)
    assert names(closed) == ["mul", "mul", "sin", "add", "div", "div"]


def test_zero_output_tangents_are_made_real_only_where_wanted():
    aval = jax.make_jaxpr(lambda x: x)(np.ones(3, np.float32)).in_avals[0]
    closed = trace_to_closed_jaxpr(lambda x, y: [x * y, y], [aval, aval])
    jaxpr, nonzero = jvp_jaxpr(closed, [True, False], instantiate=False)
    assert nonzero == [True, False]
    assert names(jaxpr) == ["mul", "mul"]
    jaxpr, nonzero = jvp_jaxpr(closed, [True, False], instantiate=[False, True])
    assert nonzero == [True, True]
    assert names(jaxpr) == ["mul", "mul", "broadcast_in_dim"]


def test_the_jvp_of_a_jaxpr_is_made_once():
    closed = trace_to_closed_jaxpr(lambda x: [x * x], [F32])
    assert jvp_jaxpr(closed, [True], False)[0] is jvp_jaxpr(closed, [True], False)[0]
    assert jvp_jaxpr(closed, [True], False)[0] is not jvp_jaxpr(closed, [False], False)[0]


def test_perturbations_are_not_confused():
    # d/dx (x * d/dy (x + y)) is 1, and 2 where the two tangents are taken for one.
    assert jax.grad(lambda x: x * jax.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert jax.jvp(lambda x: x * jax.jvp(lambda y: x + y, (1.0,), (1.0,))[1], (1.0,), (1.0,))[1] == 1.0
    assert jax.grad(lambda x: jax.grad(lambda y: x * y * y)(x))(3.0) == 12.0


def test_nested_traces_stand_on_each_other():
    levels = []

    def f(x):
        levels.append(x._trace.level)
        return x * x

    jax.jvp(lambda x: jax.jvp(f, (x,), (1.0,))[1], (2.0,), (1.0,))
    jax.grad(f)(2.0)
    jax.vmap(jax.grad(f))(jnp.ones(2))
    assert levels == [2, 2, 3]


def test_python_control_flow_sees_the_primal_value():
    def power(x, n):
        result = 1.0
        while n > 0:
            result, n = result * x, n - 1
        return result if result < 100 else -result

    assert jax.grad(power)(2.0, 3) == 12.0
    assert jax.grad(power)(10.0, 3) == -300.0
    assert jax.grad(lambda x: x if x > 0 else -x)(-2.0) == -1.0


def test_a_value_under_jit_is_not_concrete():
    with pytest.raises(errors.TracerBoolConversionError):
        jax.jit(jax.grad(lambda x: x if x > 0 else -x))(1.0)


def test_integers_have_tangents_of_no_information():
    value, tangent = jax.jvp(lambda i: i + i, (jnp.arange(3),), (np.zeros(3, dtypes.float0),))
    assert tangent.dtype == dtypes.float0
    assert tangent.shape == value.shape
    value, tangent = jax.jvp(lambda x: jnp.argmax(x), (jnp.array([1.0, 3.0]),), (jnp.ones(2),))
    assert (value, tangent.dtype) == (1, dtypes.float0)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.vmap, lambda f: jax.jit(jax.vmap(f))])
def test_float0_is_numpys_however_it_was_computed(wrap):
    is_positive = lambda x: jax.jvp(lambda x: x > 0, (x,), (x,))  # noqa: E731
    _, tangent = wrap(is_positive)(jnp.arange(3.0))
    assert type(tangent) is np.ndarray
    assert (tangent.shape, tangent.dtype) == ((3,), dtypes.float0)


def test_a_tracer_is_of_no_use_after_its_trace():
    leaked = []

    def f(x):
        leaked.append(x * 2)
        return x

    jax.grad(f)(1.0)
    with pytest.raises(errors.UnexpectedTracerError):
        jnp.sin(leaked[0])
    with pytest.raises(errors.UnexpectedTracerError):
        jax.jit(lambda y: y + leaked[0])(1.0)
    with pytest.raises(errors.UnexpectedTracerError):
        jax.jit(lambda y: leaked[0])(1.0)  # no operation that would ask


@pytest.mark.parametrize("transform", [
    jax.grad, jax.value_and_grad, jax.jacfwd, jax.checkpoint, lambda f: lambda x: jax.vjp(f, x),
    lambda f: lambda x: jax.jvp(f, (x,), (1.0,)), lambda f: lambda x: jax.linearize(f, x),
    lambda f: lambda x: jax.jit(lambda y: jax.grad(f)(x))(1.0)])
@pytest.mark.parametrize("leak", [jax.jit, jax.grad])
def test_a_leaked_tracer_is_no_argument(leak, transform):
    """Also where the function hands it on, so that no operation asks."""
    leaked = []
    leak(lambda x: leaked.append(x) or x)(1.0)
    with pytest.raises(errors.UnexpectedTracerError):
        transform(lambda x: x)(leaked[0])


@pytest.mark.parametrize(("size", "error"), [(0, ValueError), (1, errors.TracerBoolConversionError), (2, ValueError)])
def test_the_truth_of_a_tracer_depends_on_its_size_first(size, error):
    with pytest.raises(error):
        jax.jit(bool)(np.ones(size, np.float32))


@pytest.mark.parametrize("transform", [jax.grad, jax.vmap, jax.jit, lambda f: lambda x: jax.linearize(f, x)])
def test_leaks_are_found_when_asked_for(transform):
    kept = []

    def leaking(x):
        kept.append(x)
        return jnp.sum(x)

    x = jnp.ones(3)
    with jax.check_tracer_leaks():
        transform(lambda x: jnp.sum(jnp.sin(x)))(x)
        with pytest.raises(Exception, match=r"Leaked trace MainTrace\(\d,\w+\)\. Leaked tracer\(s\):") as caught:
            transform(leaking)(x)
    assert re.findall(r"is referred to by (<list.*)", str(caught.value)) == [f"<list {id(kept)}>[0]"]


def test_finished_traces_are_freed():
    gc.collect()
    jax.grad(lambda x: jnp.sum(jnp.sin(x) * x))(jnp.ones(3))
    gc.collect()
    assert not [x for x in gc.get_objects() if isinstance(x, JVPTrace)]


def test_every_operator_goes_through():
    def f(x):
        return (-x + 1.0) * (2.0 - x) / (x**2 + 3.0) - abs(x) + x[()] + x.sum() + jnp.float32(2) * x

    x = 1.3
    expected = (f(jnp.float32(x + 1e-2)) - f(jnp.float32(x - 1e-2))) / 2e-2
    np.testing.assert_allclose(jax.grad(f)(jnp.float32(x)), expected, rtol=1e-3)


def test_lax_operators_without_promotion():
    assert jax.jvp(lax.mul, (2.0, 3.0), (1.0, 10.0)) == (6.0, 23.0)
