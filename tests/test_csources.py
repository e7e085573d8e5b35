"""The texts of math functions in generated programs: inlined, or called on vectors where they are called often."""
import numpy as np

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.csources import OFTEN, math_functions


def test_a_function_that_is_called_often_is_not_inlined():
    assert "noinline" not in math_functions({"tt_exp_f32": OFTEN - 1})
    assert math_functions({"tt_exp_f32": OFTEN}).count("noinline") == 1


def test_short_functions_are_always_inlined():
    assert "noinline" not in math_functions({"tt_sign_f32": OFTEN, "tt_max_f32": OFTEN})


def test_called_and_inlined_agree_to_rounding():
    x = np.linspace(-3, 3, 1000, dtype=np.float32)

    def chain(times):
        def f(x):
            for _ in range(times):
                x = jnp.sin(x) + jnp.exp(-x) * 0.25
            return x
        return f

    many = jax.jit(chain(2 * OFTEN))(x)
    some = x
    for _ in range(2):
        for _ in range(OFTEN):
            some = jax.jit(chain(1))(some)
    np.testing.assert_allclose(many, some, rtol=1e-5, atol=1e-6)
