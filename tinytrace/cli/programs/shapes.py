"""One program for each shape: why a Python `if` on a shape works under jit.

From "Does jax save the jaxpr of jit compiled functions?".
"""
import tinytrace as jax
import tinytrace.numpy as jnp


@jax.jit
def test(x):
    if x.shape[0] > 4:
        return 1
    else:
        return -1


x8 = jnp.ones(8)
x3 = jnp.ones(3)

print(test(x8))
print(test(x3))
test.clear_cache()

print(test._cache_size())  # no calls yet, so no cache

test(x8)
print(test._cache_size())  # first call caches the jaxpr

test(x8)
print(test._cache_size())  # repeated call, so size doesn't change

test(x3)
print(test._cache_size())  # new call, so size increases

test(x8)
print(test._cache_size())  # repeated call -> size doesn't change
