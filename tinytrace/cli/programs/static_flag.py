"""A static flag costs one compilation for each of its values.

From "Caching Behavior in JAX".
"""
from functools import partial

import tinytrace as jax
import tinytrace.numpy as jnp


@partial(jax.jit, static_argnames=["flag"])
def f(x, flag):
    if flag:
        return jnp.sin(x)
    else:
        return jnp.cos(x)


print(f._cache_size())

x = jnp.arange(10)
f(x, True)
print(f._cache_size())

f(x, False)
print(f._cache_size())

# Subsequent calls with the same flag value hit the cache:
flag = True
for _ in range(100):
    f(x, flag)
    flag = not flag
print(f._cache_size())

# A new shape makes new entries:
x = jnp.arange(100)
for _ in range(100):
    f(x, flag)
    flag = not flag
print(f._cache_size())
