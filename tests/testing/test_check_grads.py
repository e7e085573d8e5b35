"""check_grads accepts what is right, to every order and mode, and finds what is wrong."""

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.test_util import check_grads, check_jvp, check_vjp

FUNCTIONS = {
    "scalar": (lambda x: jnp.sin(x) * x, (1.5,)),
    "two arguments": (lambda x, y: jnp.exp(x / 3) * y, (0.5, 2.0)),
    "vector": (lambda x: jnp.tanh(x) @ x, (np.linspace(-1, 1, 4),)),
    "tree": (lambda d: {"out": d["a"] * d["b"][0]}, ({"a": np.ones(3), "b": [0.3]},)),
    "integer argument": (lambda x, n: x * n, (np.ones(2), np.arange(2))),
    "integer output": (lambda x: (x * 2, jnp.argmax(x)), (np.array([1.0, 3.0, 2.0]),)),
}


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", FUNCTIONS)
def test_right_derivatives_pass(name):
    fun, args = FUNCTIONS[name]
    order = 1 if "integer" in name else 3
    check_grads(fun, args, order=order)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",)])
def test_single_modes(modes):
    check_grads(lambda x: x**3, (2.0,), order=3, modes=modes)


def wrong():
    @jax.custom_jvp
    def f(x):
        return x**2

    f.defjvp(lambda primals, tangents: (f(*primals), 3 * tangents[0]))
    return f


@pytest.mark.parametrize(("modes", "message"), [(("fwd",), "JVP tangent"), (("rev",), "VJP cotangent projection")])
def test_wrong_derivatives_are_found(modes, message):
    with pytest.raises(AssertionError, match=message):
        check_grads(wrong(), (5.0,), order=1, modes=modes)


def test_a_wrong_second_derivative_names_the_chain():
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)

    # The value is right, but the rule is not the derivative of itself: cos is frozen.
    f.defjvp(lambda primals, tangents: (f(*primals), jax.lax.stop_gradient(jnp.cos(primals[0])) * tangents[0]))
    check_grads(f, (1.0,), order=1)
    with pytest.raises(AssertionError, match="JVP of JVP tangent"):
        check_grads(f, (1.0,), order=2, modes=("fwd",))


def test_a_wrong_value_is_found():
    with pytest.raises(AssertionError, match="JVP primal"):
        check_jvp(lambda x: x, lambda args, tangents: (args[0] + 1, tangents[0]), (1.0,), err_msg="JVP")
    with pytest.raises(AssertionError, match="primal"):
        check_vjp(lambda x: x, lambda x: (x + 1, lambda ct: (ct,)), (1.0,))


def test_tolerances_can_be_given_by_dtype():
    off = lambda args, tangents: (args[0] * 1.0, tangents[0] * 1.01)  # noqa: E731
    check_jvp(lambda x: x * 1.0, off, (np.ones(1),), atol=0.1, rtol=0.1)
    check_jvp(lambda x: x * 1.0, off, (np.ones(1),), atol={np.float64: 0.1}, rtol={np.float64: 0.1})
    with pytest.raises(AssertionError):
        check_jvp(lambda x: x * 1.0, off, (np.ones(1),), atol={np.float32: 0.1}, rtol={np.float32: 0.1})


def test_single_precision_has_its_own_tolerance():
    with jax.enable_x64(False):
        check_grads(lambda x: jnp.sin(x) * x, (np.float32(1.5),), order=1, eps=1e-2, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("function", [
    lambda z: z * jnp.sin(z), lambda z: (z * jnp.conj(z)).real, lambda z: jnp.abs(z), lambda z: jnp.fft.fft(z).imag,
    lambda z: jnp.linalg.solve(z[:, None] * jnp.eye(3) + 2j, z)])
def test_derivatives_of_complex_functions(function):
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        z = rng.normal(size=3) + 1j * rng.normal(size=3)
        check_grads(function, (z,), 2)


def test_a_wrong_cotangent_of_a_complex_function_is_told():
    wrong = jax.custom_vjp(lambda z: z * 2)
    wrong.defvjp(lambda z: (z * 2, None), lambda _, ct: (2 * jnp.conj(ct),))
    with jax.enable_x64(True), pytest.raises(AssertionError, match="cotangent projection"):
        check_grads(wrong, (np.array([1 + 2j, 3j]),), 1, modes=["rev"])
