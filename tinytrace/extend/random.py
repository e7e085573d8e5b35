"""`jax.extend.random`: generators of random bits. There is no way to add one to those of `jax.random.key(impl=)`."""
from tinytrace.missing import refused

_WHY = "the generators are those of jax.random.key(seed, impl=), whose bits jax.random.bits(key) gives"

define_prng_impl = refused("jax.extend.random.define_prng_impl", _WHY)
random_seed = refused("jax.extend.random.random_seed", _WHY)
rbg_prng_impl = refused("jax.extend.random.rbg_prng_impl", _WHY)
seed_with_impl = refused("jax.extend.random.seed_with_impl", _WHY)
threefry2x32_p = refused("jax.extend.random.threefry2x32_p", _WHY)
threefry_2x32 = refused("jax.extend.random.threefry_2x32", _WHY)
threefry_prng_impl = refused("jax.extend.random.threefry_prng_impl", _WHY)
unsafe_rbg_prng_impl = refused("jax.extend.random.unsafe_rbg_prng_impl", _WHY)
