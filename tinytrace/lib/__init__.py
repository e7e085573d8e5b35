"""`jax.lib`: the compiled half of JAX, of which libraries ask for types, and for its version: that of `install_as_jax`.
"""
from tinytrace.as_jax import VERSION
from tinytrace.lib import xla_bridge as xla_bridge
from tinytrace.lib import xla_client as xla_client
from tinytrace.lib import xla_extension as xla_extension

__version__ = VERSION
