"""jax.image: the jaxprs, values, gradients and errors of JAX 0.4.35."""

import functools

import numpy as np
import pytest

import tinytrace.numpy as jnp
from tests import goldens
from tinytrace import image

SCENE, CASES = goldens.load("image")


@functools.cache
def scene():
    return goldens.set_scene(goldens.as_tinytrace(SCENE))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.program[:60])
def test_answers_of_jax(case):
    got = goldens.answer(case.program, dict(scene()))
    assert goldens.differences(got, case.answer, 4e-6) == []


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3", "lanczos5"])
def test_weights_sum_to_one(method):
    """A constant image stays one."""
    assert np.allclose(image.resize(jnp.full((5, 3), 2.0), (3, 7), method), 2.0)


def test_arguments_that_do_not_fit_are_told():
    x, one = jnp.ones((2, 3)), jnp.ones(1)
    with pytest.raises(ValueError, match=r"one element for each of spatial_dims, \(0, 1\); their shapes are \(1,\)"):
        image.scale_and_translate(x, (2, 3), (0, 1), one, one, "linear")
    with pytest.raises(TypeError, match="method must be a ResizeMethod or the name of one, got 3"):
        image.resize(x, (3, 3), 3)
    with pytest.raises(TypeError, match=r"every element be nonnegative, got \(3, -1\)"):
        image.resize(x, (3, -1), "nearest")
    for call in (image.resize, lambda *args: image.scale_and_translate(args[0], args[1], (0,), one, one, args[2])):
        with pytest.raises(TypeError, match="requires ndarray or scalar arguments, got <class 'list'>"):
            call([1.0, 2.0], (3,), "linear")
