"""`jax._src.lib`, and `jaxlib`: the compiled half of JAX, see `tinytrace/lib`."""
from tinytrace.lib import pytree as pytree
from tinytrace.lib import xla_client as xla_client
from tinytrace.lib import xla_extension as xla_extension
