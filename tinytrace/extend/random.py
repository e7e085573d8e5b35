"""`jax.extend.random`: generators of random bits. There is one, threefry, and no way to add another."""
from tinytrace.missing import refused

_WHY = "there is one generator, threefry: jax.random.key(seed) and jax.random.bits(key)"

define_prng_impl = refused("jax.extend.random.define_prng_impl", _WHY)
random_seed = refused("jax.extend.random.random_seed", _WHY)
rbg_prng_impl = refused("jax.extend.random.rbg_prng_impl", _WHY)
seed_with_impl = refused("jax.extend.random.seed_with_impl", _WHY)
threefry2x32_p = refused("jax.extend.random.threefry2x32_p", _WHY)
threefry_2x32 = refused("jax.extend.random.threefry_2x32", _WHY)
threefry_prng_impl = refused("jax.extend.random.threefry_prng_impl", _WHY)
unsafe_rbg_prng_impl = refused("jax.extend.random.unsafe_rbg_prng_impl", _WHY)
