"""Step 5: tangents."""

import numpy as np
import pytest
from hypothesis import given
from programs import ANY, SHAPES, SMOOTH, NumPy, arrays, close, few, function

import tinytrace as jax
import tinytrace.numpy as jnp


@few
@given(SMOOTH, SHAPES)
def test_tangents_are_what_differences_tend_to(m, text, shape):
    (x, y), (dx, dy) = arrays(shape), arrays(shape, seed=1)
    f, h = function(text, NumPy), 1e-5
    x64, y64 = x.astype(float), y.astype(float)
    slope = (f(x64 + h * dx, y64 + h * dy) - f(x64 - h * dx, y64 - h * dy)) / (2 * h)
    out, tangent = m.jvp(function(text, m), (m.array(x), m.array(y)), (m.array(dx), m.array(dy)))
    close(out, f(x, y), 1e-4)
    close(tangent, slope, 2e-3)


@few
@given(ANY, SHAPES)
def test_tangents_are_tinytraces(m, text, shape):
    (x, y), (dx, dy) = arrays(shape), arrays(shape, seed=1)
    _, tangent = m.jvp(function(text, m), (m.array(x), m.array(y)), (m.array(dx), m.array(dy)))
    close(tangent, jax.jvp(function(text, jnp), (x, y), (dx, dy))[1], 1e-4)


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log", "tanh"])
def test_every_function_of_one_number(m, name):
    _, tangent = m.jvp(getattr(m, name), (0.7,), (1.0,))
    h = 1e-6
    slope = (getattr(np, name)(0.7 + h) - getattr(np, name)(0.7 - h)) / (2 * h)
    close(tangent, slope, 1e-4)


def test_what_does_not_move_has_tangent_zero(m):
    assert np.asarray(m.jvp(lambda x: m.ones(2), (1.0,), (1.0,))[1]).tolist() == [0, 0]


def test_shapes_that_are_repeated(m):
    x, scale = m.array([[1.0, 2.0, 3.0]]), m.array(2.0)
    _, tangent = m.jvp(lambda s: s * x + s, (scale,), (m.array(1.0),))
    assert np.asarray(tangent).tolist() == [[2, 3, 4]]


def test_derivatives_of_derivatives(m):
    def slope(f):
        return lambda x: m.jvp(f, (x,), (1.0,))[1]

    close(slope(slope(slope(m.sin)))(0.5), -np.cos(0.5), 1e-5)


def test_containers_and_calls(m):
    f = m.jit(lambda p: {"out": m.sum(p["w"] * p["w"])})
    out, tangent = m.jvp(f, ({"w": m.arange(3.0)},), ({"w": m.ones(3)},))
    assert (float(out["out"]), float(tangent["out"])) == (5.0, 6.0)


def test_a_condition_on_a_value_that_is_there(m):
    out, tangent = m.jvp(lambda x: x * x if x > 0 else x, (3.0,), (1.0,))
    assert (float(out), float(tangent)) == (9.0, 6.0)
