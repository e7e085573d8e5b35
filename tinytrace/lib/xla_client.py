"""`jax.lib.xla_client`: types of JAX's C++ half, by its older name."""
from tinytrace.core.array import Array as ArrayImpl
from tinytrace.core.array import Device as Device
from tinytrace.errors import JaxRuntimeError as XlaRuntimeError
from tinytrace.lib import xla_extension as _xla
from tinytrace.util import lazy_names

__getattr__ = lazy_names("tinytrace", {"HloSharding": "gspmd_sharding"}, __name__)

__all__ = ["ArrayImpl", "Device", "XlaRuntimeError", "_xla"]
