"""Transposition: the adjoint of a linear program, with as few equations as there can be."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.avals import ShapedArray
from tinytrace.core.tangents import UndefinedPrimal, Zero
from tinytrace.transforms.staging import trace_to_closed_jaxpr
from tinytrace.transforms.transpose import backward_pass, transpose_jaxpr

F32 = ShapedArray((), np.dtype(np.float32))
V3 = ShapedArray((3,), np.dtype(np.float32))
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)
LINEAR = {
    "scale": lambda x: x * 3,
    "fan out": lambda x: x + x * 2 - (-x),
    "sum": lambda x: jnp.sum(x),
    "matmul": lambda x: MATRIX @ x,
    "reshape": lambda x: x.reshape(3, 1).T * 2,
    "slice and pad": lambda x: jnp.pad(x[1:], (2, 1)) + x[0],
    "broadcast": lambda x: jnp.broadcast_to(x, (2, 3)) * MATRIX,
    "concatenate": lambda x: jnp.concatenate([x, x[:2] * 2]),
    "reverse": lambda x: x[::-1] + x,
    "cumsum": lambda x: jnp.cumsum(x),
    "where": lambda x: jnp.where(jnp.array([True, False, True]), x, 2 * x),
    "gather": lambda x: x[jnp.array([2, 0, 0])],
    "scatter": lambda x: jnp.zeros(4).at[jnp.array([3, 1, 1])].add(x),
    "convert": lambda x: x.astype(jnp.float16).astype(jnp.float32),
    "jit": lambda x: jax.jit(lambda y: (y * 2)[::-1])(x),
    "vmap": lambda x: jax.vmap(lambda y: y * x)(jnp.arange(2.0)),
}


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


@pytest.mark.parametrize("name", LINEAR)
def test_the_transpose_is_the_adjoint(name):
    fun = LINEAR[name]
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, 3).astype(np.float32)
    y = np.asarray(fun(x))
    ct = rng.integers(-4, 5, y.shape).astype(np.float32)
    pulled, = jax.linear_transpose(fun, x)(ct)
    np.testing.assert_allclose(np.vdot(ct, y), np.vdot(np.asarray(pulled), x), rtol=1e-3)
    twice, = jax.linear_transpose(lambda c: jax.linear_transpose(fun, x)(c)[0], ct)(x)
    np.testing.assert_allclose(twice, y, rtol=1e-3)


def test_cotangents_are_added_in_the_order_of_arrival():
    closed = trace_to_closed_jaxpr(lambda x: [lax.add(lax.mul(x, 2.0), lax.mul(x, 3.0))], [F32])
    transposed, received = transpose_jaxpr(closed, [True], [True])
    assert received == [True]
    assert str(transposed) == "\n".join([
        "{ lambda ; a:f32[]. let", "    b:f32[] = mul a 3.0", "    c:f32[] = mul a 2.0", "    d:f32[] = add_any b c",
        "  in (d,) }"])


def test_what_receives_nothing_costs_nothing():
    closed = trace_to_closed_jaxpr(lambda x, y: [x * 2.0, y * 3.0, -y], [F32, F32])
    transposed, received = transpose_jaxpr(closed, [True, True], [False, True, False])
    assert received == [False, True]
    assert names(transposed) == ["mul"]
    assert str(transposed) == "{ lambda ; a:f32[]. let b:f32[] = mul a 3.0 in (b,) }"


def test_known_inputs_are_values():
    closed = trace_to_closed_jaxpr(lambda w, x: [w * x], [V3, V3])
    w, ct = np.float32([1, 2, 3]), np.float32([1, 1, 2])
    known, linear = backward_pass(closed.jaxpr, closed.consts, [w, UndefinedPrimal(V3)], [ct])
    assert isinstance(known, Zero)
    np.testing.assert_array_equal(linear, w * ct)


def test_a_known_operand_of_a_sum_receives_its_cotangent_too():
    closed = trace_to_closed_jaxpr(lambda w, x: [w + x], [V3, V3])
    transposed, received = transpose_jaxpr(closed, [False, True], [True])
    assert received == [True, True]
    assert str(transposed) == "{ lambda ; a:f32[3] b:f32[3]. let  in (b, b) }"


def test_zero_cotangents_give_zero():
    closed = trace_to_closed_jaxpr(lambda x: [x * 2.0], [F32])
    assert isinstance(backward_pass(closed.jaxpr, [], [UndefinedPrimal(F32)], [Zero(F32)])[0], Zero)


def test_what_is_not_linear_is_refused():
    with pytest.raises(NotImplementedError, match=r"Transpose rule .* for 'sin' not implemented"):
        jax.linear_transpose(jnp.sin, 1.0)(1.0)


def test_the_transpose_of_a_jaxpr_is_made_once():
    closed = trace_to_closed_jaxpr(lambda x: [x * 2.0], [F32])
    assert transpose_jaxpr(closed, [True], [True])[0] is transpose_jaxpr(closed, [True], [True])[0]
