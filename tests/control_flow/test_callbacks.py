"""Callbacks run however a program is called, also where it computes nothing besides."""

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
