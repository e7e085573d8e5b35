"""Jit of a fresh function in each round of a loop: JAX compiles 20 times, here equal programs are found again.

From JAX's "Just-in-time compilation" (https://jax.readthedocs.io/en/latest/jit-compilation.html).
"""
import time
from functools import partial

import tinytrace as jax


def unjitted_loop_body(prev_i):
    return prev_i + 1


def g_inner_jitted_partial(x, n):
    i = 0
    while i < n:
        i = jax.jit(partial(unjitted_loop_body))(i)  # each partial is a function with a different hash
    return x + i


def g_inner_jitted_lambda(x, n):
    i = 0
    while i < n:
        i = jax.jit(lambda x: unjitted_loop_body(x))(i)  # and so is each lambda
    return x + i


def g_inner_jitted_normal(x, n):
    i = 0
    while i < n:
        i = jax.jit(unjitted_loop_body)(i)  # this finds the traced function
    return x + i


# The text's own figures for JAX: 227 ms, 218 ms, 2.28 ms.
for name, loop in [
    ("partials", g_inner_jitted_partial),
    ("lambdas", g_inner_jitted_lambda),
    ("caching", g_inner_jitted_normal),
]:
    loop(10, 20)
    start = time.perf_counter()
    answer = loop(10, 20).block_until_ready()
    print(f"jit called in a loop with {name}: {answer}, {1000 * (time.perf_counter() - start):.2f} ms")
