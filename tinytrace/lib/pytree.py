"""`jaxlib.pytree`: the type of tree structures."""
from tinytrace.core.trees import PyTreeDef as PyTreeDef
from tinytrace.core.trees import PyTreeRegistry as PyTreeRegistry
