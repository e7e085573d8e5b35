"""jax.experimental.ode: the jaxprs, values, gradients and errors of JAX 0.4.35."""

import functools

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests import goldens
from tinytrace.experimental.ode import odeint

SCENE, CASES = goldens.load("ode")


@functools.cache
def scene():
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
def test_answers_of_jax(case):
    with np.printoptions(legacy="1.25"):
        got = goldens.answer(case.program, dict(scene()))
    assert goldens.differences(got, case.answer, 1e-5) == []


def test_gradients_are_those_of_the_known_solution():
    """y(t) = y0 exp(-rate t)."""
    def last(y0, t, rate):
        return odeint(lambda y, t, rate: -rate * y, y0, t, rate, rtol=1e-6, atol=1e-6)[-1]

    y0_ct, t_ct, rate_ct = jax.grad(last, (0, 1, 2))(2.0, jnp.array([0.5, 1.5]), 0.7)
    y = 2.0 * np.exp(-0.7)
    assert np.allclose([y0_ct, *t_ct, rate_ct], [y / 2, 0.7 * y, -0.7 * y, -y], rtol=1e-3)


def test_times_that_are_no_array_are_refused():
    with pytest.raises(TypeError, match=r"t must be an array of floats, but got \[0\.0, 1\.0\]"):
        odeint(lambda y, t: y, 1.0, [0.0, 1.0])
