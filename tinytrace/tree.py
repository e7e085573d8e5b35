"""The short names of the pytree functions: `tree.map`, `tree.leaves`, ... (`jax.tree`)."""

from tinytrace.core.tree_operations import tree_all as all
from tinytrace.core.tree_operations import tree_reduce as reduce
from tinytrace.core.tree_operations import tree_transpose as transpose
from tinytrace.core.trees import tree_flatten as flatten
from tinytrace.core.trees import tree_leaves as leaves
from tinytrace.core.trees import tree_map as map
from tinytrace.core.trees import tree_structure as structure
from tinytrace.core.trees import tree_unflatten as unflatten

__all__ = ["all", "flatten", "leaves", "map", "reduce", "structure", "transpose", "unflatten"]
