"""Transposes of one's own: where tinytrace says more than JAX, or does what JAX fails to do; the rest is a golden."""
from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import grad, jit, lax, linear_transpose, vmap
from tinytrace.custom_batching import custom_vmap
from tinytrace.custom_derivatives import linear_call
from tinytrace.custom_transpose import custom_transpose

F32 = jax.core.ShapedArray((), np.dtype("float32"))
XS = jnp.array([0.5, -1.5, 2.0])


def quotient(r, x):
    return x / r


def half(r, ct):
    return ct / (2 * r)


@custom_transpose
def scaled(c, x):
    return c * x


@scaled.def_transpose
def scaled_transpose(c, ct):
    return 10.0 * c * ct


def ruled(fun, rule):
    fun = custom_transpose(fun)
    fun.def_transpose(rule)
    return fun


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["plain", "jit"])
def test_a_linear_call_is_transposed_in_some_of_its_arguments(wrap):
    def f(x):
        return linear_call(lambda r, x: x[0] + r * x[1], lambda r, ct: (2.0 * ct, r * ct), 3.0, (x, 2.0))

    assert linear_transpose(wrap(f), 1.0)(5.0) == (10.0,)


@pytest.mark.parametrize("f", [lambda x: linear_call(quotient, half, x, 2.0), lambda x: scaled(F32, x, 2.0),
                               lambda x: linear_call(lambda r, y: x * y, lambda r, ct: x * ct, (), 2.0)])
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["plain", "jit"])
def test_what_is_not_linear_is_not_transposed(f, wrap):
    with pytest.raises(NotImplementedError, match=r"is transposed in its linear arguments? only"):
        linear_transpose(wrap(f), 1.0)(1.0)


def test_a_transpose_gives_the_shapes_of_the_linear_inputs():
    with pytest.raises(TypeError, match=r"got f32\[3\] for an input of type f32\[\]"):
        linear_call(quotient, lambda r, ct: jnp.ones(3), 2.0, 1.0)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["plain", "jit"])
def test_without_a_rule_it_is_not_transposed(wrap):
    f = custom_transpose(quotient)
    with pytest.raises(TypeError, match="No transpose rule defined for custom_transpose function quotient"):
        linear_transpose(wrap(lambda x: f(F32, 2.0, x)), 1.0)(1.0)


def test_what_a_function_closes_over_is_no_residual():
    def by(k, rule):
        return lambda x: ruled(lambda r, x: x * k, rule)(F32, (), x)

    def run(stage, rule):
        return jit(lambda k, ct: linear_transpose(stage(by(k, rule(k))), 1.0)(ct)[0])(2.0, 3.0)

    assert run(lambda f: f, lambda k: lambda r, ct: 10.0 * k * ct) == 60.0
    assert run(jit, lambda k: lambda r, ct: 10.0 * ct) == 30.0
    with pytest.raises(NotImplementedError, match=r"closes over a traced value.*pass the value as a residual"):
        run(jit, lambda k: lambda r, ct: 10.0 * k * ct)


def test_a_rule_gives_a_prefix_in_a_staged_program_too():
    f = ruled(lambda r, x: x[0] + x[1], lambda r, ct: 3.0 * ct)
    assert linear_transpose(jit(lambda x, y: f(F32, (), (x, y))), 1.0, 1.0)(2.0) == (6.0, 6.0)


@pytest.mark.parametrize("out_type", [F32, jax.ShapeDtypeStruct((), np.dtype("float32")), jnp.float32(0), 0.0])
def test_the_type_of_the_result_may_be_told_by_an_example(out_type):
    assert linear_transpose(jit(lambda x: scaled(out_type, 2.0, x)), 1.0)(3.0) == (60.0,)


def test_grad_of_a_loop():
    def f(x):
        return lax.scan(lambda c, x: (scaled(F32, 2.0, c), None), x, XS)[0]

    for transformed in (f, jit(f)):
        assert transformed(1.0) == 8.0
        assert grad(transformed)(1.0) == 20.0 ** 3


def test_vmap_is_refused():
    for f in (lambda x: scaled(F32, 2.0, x), lambda x: linear_call(quotient, half, 2.0, x)):
        with pytest.raises(NotImplementedError, match="Batching rule for"):
            vmap(f)(XS)


def test_rules_of_several_kinds_on_one_function():
    for decorators in itertools.permutations([jax.custom_vjp, custom_vmap, custom_transpose]):
        f = quotient
        for decorate in decorators:
            f = decorate(f)
        for define in ("defvjp", "def_vmap", "def_transpose"):
            assert callable(getattr(f, define))


def test_it_can_be_pickled():
    assert pickle.loads(pickle.dumps(scaled)) is scaled
