"""What csrc/trees.c does, in Python: trees are taken apart into leaves and a treedef, put together, and matched.

What both are is told by `core/trees.py`; how single nodes come apart, by their kinds (`core/node_kinds.py`).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


class _Trees:
    """What trees are made of; see `set_trees`."""

    kinds: dict[type, Any]
    leaf: Any
    make_treedef: Callable[[Any, Any, tuple[Any, ...]], Any]


_trees = _Trees()


def set_trees(kinds: dict[type, Any], treedef: type, leaf: Any, interned: dict[Any, Any],
              make_treedef: Callable[[Any, Any, tuple[Any, ...]], Any], /) -> None:
    """Say what trees are made of.

    Args:
      kinds: for each type its kind, None for leaves.
      treedef: the class of structures.
      leaf: that of a leaf.
      interned: known ones, by what they were made of; here `make_treedef` is asked for these, too.
      make_treedef: the structure of a node with a kind, data and parts.
    """
    _trees.kinds, _trees.leaf, _trees.make_treedef = kinds, leaf, make_treedef


def flatten_into(leaves: list[Any], tree: Any, is_leaf: Callable[[Any], Any] | None = None, /) -> Any:
    """Append the leaves of a tree to a list, and return its structure; `is_leaf` may stop the descent."""
    kind = None if is_leaf is not None and is_leaf(tree) else _trees.kinds[type(tree)]
    if kind is None:
        leaves.append(tree)
        return _trees.leaf
    children, data = kind.flatten(tree)
    return _trees.make_treedef(kind, data, tuple([flatten_into(leaves, child, is_leaf) for child in children]))


def append_leaves(leaves: list[Any], tree: Any, /) -> None:
    """Append the leaves of a tree to a list."""
    kind = _trees.kinds[type(tree)]
    if kind is None:
        leaves.append(tree)
        return
    for child in kind.flatten(tree)[0]:
        append_leaves(leaves, child)


def built(treedef: Any, leaves: list[Any], /) -> Any:
    """Return the tree of a structure with these leaves, of which there are as many as there should be."""
    return _build(treedef, iter(leaves))


def _build(treedef: Any, leaves: Iterator[Any]) -> Any:
    if treedef._kind is None:
        return next(leaves)
    return treedef._kind.unflatten(treedef._data, [_build(part, leaves) for part in treedef._children])


def subtrees(treedef: Any, tree: Any, /) -> list[Any]:
    """Return what stands in a tree where a structure has its leaves; ValueError where it does not fit."""
    backwards: list[Any] = []
    _collect(treedef, tree, backwards)
    return backwards[::-1]


def _collect(treedef: Any, tree: Any, backwards: list[Any]) -> None:
    # From the last child to the first, as JAX goes: of several misfits it is the last that is reported.
    if treedef._kind is None:
        backwards.append(tree)
        return
    children = treedef._kind.match(treedef._data, len(treedef._children), tree)
    for part, child in zip(treedef._children[::-1], children[::-1], strict=True):
        _collect(part, child, backwards)
