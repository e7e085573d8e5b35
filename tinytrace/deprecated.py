"""Names of `jax` that JAX 0.4.35 has no more, but for a warning that says what to write instead."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tinytrace import tree_util

NAMES = ("tree_flatten", "tree_leaves", "tree_map", "tree_structure", "tree_transpose", "tree_unflatten")


def deprecated(name: str) -> Callable[..., Any]:
    """Return `jax.tree_map` or one of its kin, with the warning of JAX 0.4.35.

    >>> with warnings.catch_warnings(action="ignore"):
    ...     deprecated("tree_map")(abs, [-1, 2])
    [1, 2]
    """
    new = name.replace("_", ".", 1)
    warnings.warn(f"jax.{name} is deprecated: use jax.{new} (jax v0.4.25 or newer) or jax.tree_util.{name} (any JAX"
                  " version).", DeprecationWarning, stacklevel=3)
    return getattr(tree_util, name)  # type: ignore[no-any-return]
