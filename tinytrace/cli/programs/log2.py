"""What tracing records, and what it does not.

From JAX's "Just-in-time compilation" (https://jax.readthedocs.io/en/latest/jit-compilation.html).
"""
import tinytrace as jax
import tinytrace.numpy as jnp

global_list = []


def log2(x):
    global_list.append(x)  # a side effect: it is not in the jaxpr
    ln_x = jnp.log(x)
    ln_2 = jnp.log(2.0)
    return ln_x / ln_2


def log2_with_print(x):
    print("printed x:", x)  # runs while the function is traced
    ln_x = jnp.log(x)
    ln_2 = jnp.log(2.0)
    return ln_x / ln_2


def log2_if_rank_2(x):
    if x.ndim == 2:
        ln_x = jnp.log(x)
        ln_2 = jnp.log(2.0)
        return ln_x / ln_2
    else:
        return x


print(jax.make_jaxpr(log2)(3.0))
print(jax.make_jaxpr(log2_with_print)(3.0))
print(jax.make_jaxpr(log2_if_rank_2)(jnp.array([1, 2, 3])))
print(jax.jit(log2)(8.0))
