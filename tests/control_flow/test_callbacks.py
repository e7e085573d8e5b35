"""Callbacks run however a program is called, also where it computes nothing besides."""

import contextvars

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.experimental import io_callback

CALLS = {"plain": (lambda f: f(1.0), 1), "grad": (lambda f: jax.grad(f)(1.0), 1),
         "jvp": (lambda f: jax.jvp(f, (1.0,), (1.0,)), 1), "vmap": (lambda f: jax.vmap(f)(jnp.ones(2)), 2)}


@pytest.mark.parametrize("name", CALLS)
def test_a_program_that_hands_its_argument_through_runs_its_callbacks(name):
    call, times = CALLS[name]
    said = []

    @jax.jit
    def log(x):
        jax.debug.callback(said.append, x)
        return x

    for calls in range(1, 4):  # the first call, then known ones
        call(log)
        assert len(said) == calls * times


@pytest.mark.parametrize("name", ["plain", "grad", "jvp"])
def test_callbacks_without_arguments(name):
    said = []

    @jax.jit
    def hello(x):
        io_callback(lambda: said.append("hello"), None)
        return x

    for calls in range(1, 4):
        CALLS[name][0](hello)
        assert said == ["hello"] * calls


said_by_user: contextvars.ContextVar[str] = contextvars.ContextVar("said_by_user", default="nothing")


@pytest.mark.parametrize("call", [lambda f: f(jnp.zeros(3)), lambda f: jax.jit(f)(jnp.zeros(3)),
                                  lambda f: jax.vmap(f)(jnp.zeros((2, 3)))])
def test_callbacks_run_in_the_callers_context(call):
    """Their context variables are the caller's, NumPy's settings among them, and NumPy warns them."""
    seen = []

    def look(x):
        seen.append((said_by_user.get(), np.get_printoptions()["precision"]))
        return np.log(x)

    said_by_user.set("hello")
    with np.printoptions(precision=3), pytest.warns(RuntimeWarning, match="divide by zero"):
        call(lambda x: jax.pure_callback(look, jax.ShapeDtypeStruct((3,), "float32"), x, vmap_method="sequential"))
    with np.printoptions(precision=3):
        call(lambda x: jax.debug.callback(look, x + 1))
    assert set(seen) == {("hello", 3)}
