"""`jax.experimental.multihost_utils`: several processes, which are not here.

What libraries mention of it refuses to be used.
"""
from tinytrace.missing import refused

_WHY = "there is one process and one device: without the call the program computes the same"

sync_global_devices = refused("jax.experimental.multihost_utils.sync_global_devices", _WHY)
broadcast_one_to_all = refused("jax.experimental.multihost_utils.broadcast_one_to_all", _WHY)
process_allgather = refused("jax.experimental.multihost_utils.process_allgather", _WHY)
assert_equal = refused("jax.experimental.multihost_utils.assert_equal", _WHY)
host_local_array_to_global_array = refused("jax.experimental.multihost_utils.host_local_array_to_global_array", _WHY)
