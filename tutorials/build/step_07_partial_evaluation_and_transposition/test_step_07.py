"""Step 7: reverse mode."""

import numpy as np
import pytest
from hypothesis import given
from programs import ANY, SHAPES, arrays, close, few, function

import tinytrace as jax
import tinytrace.numpy as jnp


@few
@given(ANY, SHAPES)
def test_gradients_are_tinytraces(m, text, shape):
    x, y = arrays(shape)
    got = m.grad(lambda p: m.sum(function(text, m)(*p)))((m.array(x), m.array(y)))
    expected = jax.grad(lambda p: jnp.sum(function(text, jnp)(*p)))((x, y))
    for one, other in zip(got, expected, strict=True):
        close(one, other, 1e-4)


@few
@given(ANY, SHAPES)
def test_backward_is_the_transpose_of_forward(m, text, shape):
    (x, y), (dx, dy) = arrays(shape), arrays(shape, seed=1)
    f = function(text, m)
    out, pull = m.vjp(f, m.array(x), m.array(y))
    _, tangent = m.jvp(f, (m.array(x), m.array(y)), (m.array(dx), m.array(dy)))
    ct = arrays(np.shape(out), seed=2)[0]
    cts = pull(m.array(ct))
    moved = np.vdot(np.asarray(tangent), ct)
    np.testing.assert_allclose(moved, sum(np.vdot(np.asarray(g), d) for g, d in zip(cts, (dx, dy), strict=True)),
                               rtol=1e-3, atol=1e-3)


def test_linearize_computes_the_known_part_once(m):
    calls = []

    def f(x):
        calls.append(x)
        return m.sin(x) * x

    out, push = m.linearize(f, 2.0)
    slope = np.cos(2.0) * 2.0 + np.sin(2.0)
    close(out, np.sin(2.0) * 2.0)
    for speed in (1.0, 2.0, -3.0):
        close(push(speed), speed * slope, 1e-4)
    assert len(calls) == 1


def test_shapes_that_were_repeated_are_summed(m):
    x = m.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert float(m.grad(lambda s: m.sum(s * x))(2.0)) == 21.0
    got = m.grad(lambda row: m.sum(row * x))(m.ones(3))
    assert np.asarray(got).tolist() == [5, 7, 9]
    assert np.asarray(m.grad(lambda a: m.sum(m.sum(a * a, axis=0)))(x)).tolist() == (2 * np.asarray(x)).tolist()


def test_everything_composes(m):
    f = m.tanh
    close(m.grad(m.grad(f))(0.3), -2 * np.tanh(0.3) * (1 - np.tanh(0.3) ** 2), 1e-4)
    xs = np.linspace(-1, 1, 5, dtype=np.float32)
    close(m.vmap(m.grad(f))(m.array(xs)), 1 - np.tanh(xs) ** 2, 1e-4)
    close(m.jit(m.grad(m.jit(f)))(0.3), 1 - np.tanh(0.3) ** 2, 1e-4)
    close(m.grad(lambda x: m.sum(m.vmap(f)(x)))(m.array(xs)), 1 - np.tanh(xs) ** 2, 1e-4)


def test_an_input_that_is_not_used_gets_zeros(m):
    got = m.grad(lambda p: p["a"] * 2.0)({"a": 1.0, "b": m.ones(2)})
    assert (float(got["a"]), np.asarray(got["b"]).tolist()) == (2.0, [0, 0])


def test_only_numbers_have_a_gradient(m):
    with pytest.raises(TypeError, match="Gradient only defined for scalar-output functions"):
        m.grad(m.sin)(m.ones(3))
    value, slope = m.value_and_grad(lambda x: x * x)(3.0)
    assert (float(value), float(slope)) == (9.0, 6.0)
