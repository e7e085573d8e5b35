"""`jax._src.tree_util`: what `jax.tree_util` has, and what lies under it."""
from tinytrace import tree_util
from tinytrace.core.tree_paths import broadcast_prefix as broadcast_prefix
from tinytrace.core.tree_paths import equality_errors_pytreedef as equality_errors_pytreedef
from tinytrace.core.tree_paths import prefix_errors as prefix_errors
from tinytrace.core.trees import default_registry as none_leaf_registry  # noqa: F401

globals().update({name: value for name, value in vars(tree_util).items() if not name.startswith("__")})
