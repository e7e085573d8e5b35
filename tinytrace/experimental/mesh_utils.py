"""`jax.experimental.mesh_utils`: meshes of devices, which are not here.

What libraries mention of it refuses to be used.
"""
from tinytrace.missing import refused

_WHY = "there is one device: numpy.array(jax.devices()) is the only mesh"

create_device_mesh = refused("jax.experimental.mesh_utils.create_device_mesh", _WHY)
create_hybrid_device_mesh = refused("jax.experimental.mesh_utils.create_hybrid_device_mesh", _WHY)
