"""Conditions on values: what fails under jit, and three ways around it.

From JAX's "Just-in-time compilation" (https://jax.readthedocs.io/en/latest/jit-compilation.html).
"""
from functools import partial

import tinytrace as jax


def f(x):
    if x > 0:
        return x
    else:
        return 2 * x


def g(x, n):
    i = 0
    while i < n:
        i += 1
    return x + i


for call in (lambda: jax.jit(f)(10), lambda: jax.jit(g)(10, 20)):
    try:
        call()
    except jax.errors.TracerBoolConversionError as error:
        print(f"{type(error).__name__}: {error}")


# Jit the part that has no condition on values:
@jax.jit
def loop_body(prev_i):
    return prev_i + 1


def g_inner_jitted(x, n):
    i = 0
    while i < n:
        i = loop_body(i)
    return x + i


print(repr(g_inner_jitted(10, 20)))

# Or let the value be static:
f_jit_correct = jax.jit(f, static_argnums=0)
print(f_jit_correct(10))

g_jit_correct = jax.jit(g, static_argnames=["n"])
print(g_jit_correct(10, 20))


@partial(jax.jit, static_argnames=["n"])
def g_jit_decorated(x, n):
    i = 0
    while i < n:
        i += 1
    return x + i


print(g_jit_decorated(10, 20))
