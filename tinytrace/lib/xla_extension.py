"""`jax.lib.xla_extension`: types of arrays, devices, jitted functions and errors, by the names of JAX's C++ half."""
from tinytrace.api.jit import JitFunction as PjitFunction
from tinytrace.core.array import Array as ArrayImpl
from tinytrace.core.array import Device as Device
from tinytrace.core.trees import PyTreeDef as PyTreeDef
from tinytrace.errors import JaxRuntimeError as XlaRuntimeError
from tinytrace.lib import pytree as pytree
from tinytrace.missing import DEVICES, refused
from tinytrace.pmapping import PmapFunction as PmapFunction

Client = refused("jax.lib.xla_extension.Client", DEVICES)

__all__ = ["ArrayImpl", "Client", "Device", "PjitFunction", "PmapFunction", "PyTreeDef", "XlaRuntimeError", "pytree"]
