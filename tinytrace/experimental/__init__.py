"""`jax.experimental`: `io_callback`, 64-bit numbers for a while, and modules that libraries import."""
from tinytrace.api.callbacks import io_callback
from tinytrace.config import disable_x64, enable_x64
from tinytrace.util import lazy_submodules

__all__ = ["disable_x64", "enable_x64", "io_callback"]

__getattr__ = lazy_submodules(__name__, "checkify", "host_callback", "mesh_utils", "multihost_utils", "ode",
                              "pjit", "shard_map", "sparse")
