"""`jax.experimental.host_callback`: functions that call back, from before jax.pure_callback, which are not here.

What libraries mention of it refuses to be used.
"""
from tinytrace.missing import refused

_WHY = "use jax.pure_callback, jax.experimental.io_callback or jax.debug.callback"

call = refused("jax.experimental.host_callback.call", _WHY)
id_print = refused("jax.experimental.host_callback.id_print", _WHY)
id_tap = refused("jax.experimental.host_callback.id_tap", _WHY)
barrier_wait = refused("jax.experimental.host_callback.barrier_wait", _WHY)
