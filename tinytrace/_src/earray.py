"""`jax._src.earray`: arrays of extended types, of which there are random keys."""
from tinytrace.missing import refused

EArray = refused("jax._src.earray.EArray", "the one extended type is that of random keys, jax.random.key(0)")
