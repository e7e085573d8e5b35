"""One leaf for a whole subtree: how a tree that is a prefix of another is spread over its leaves.

Only treedefs are compared. Nothing is unflattened, for a user's class may refuse what is no array.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinytrace.core.trees import PyTreeDef


def spread_prefix(leaves: Sequence[Any], prefix: PyTreeDef, full: PyTreeDef) -> list[Any]:
    """Return one of `leaves`, those of the tree `prefix`, for each leaf of `full`.

    Raises: ValueError if `prefix` is no prefix of `full`.

    >>> from tinytrace.core.trees import tree_flatten, tree_structure
    >>> spread_prefix(*tree_flatten([1, 2]), tree_structure([(0, 0), 0]))
    [1, 1, 2]
    """
    spread: list[Any] = []
    _spread(iter(leaves), prefix, full, spread)
    return spread


def _spread(leaves: Any, prefix: PyTreeDef, full: PyTreeDef, spread: list[Any]) -> None:
    if prefix.node_data() is None:  # a leaf; an empty tuple is none
        spread.extend([next(leaves)] * full.num_leaves)
        return
    children, parts = prefix.children(), full.children()
    if prefix.node_data() != full.node_data() or len(children) != len(parts):
        raise ValueError(f"{prefix} is no prefix of {full}")
    for child, part in zip(children, parts, strict=True):
        _spread(leaves, child, part, spread)
