"""A million elements op by op, and compiled into one loop.

From JAX's "Just-in-time compilation" (https://jax.readthedocs.io/en/latest/jit-compilation.html).
"""
import time

import tinytrace as jax
import tinytrace.numpy as jnp


def selu(x, alpha=1.67, lambda_=1.05):
    return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def milliseconds(f, *args):
    """The fastest of ten calls."""
    times = []
    for _ in range(10):
        start = time.perf_counter()
        f(*args).block_until_ready()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


x = jnp.arange(1000000)
selu_jit = jax.jit(selu)
selu_jit(x).block_until_ready()  # compile before timing

eager, jitted = milliseconds(selu, x), milliseconds(selu_jit, x)
print(f"op by op {eager:.2f} ms, jitted {jitted:.2f} ms: {eager / jitted:.0f} times faster")
