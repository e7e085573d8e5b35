"""`jax.experimental.shard_map`: one program on several devices, which are not here.

What libraries mention of it refuses to be used.
"""
from tinytrace.missing import refused

_WHY = "there is one device: call the function itself"

shard_map = refused("jax.experimental.shard_map.shard_map", _WHY)
