"""Functions of whole pytrees that are made of flattening and building: folds, transposes, questions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from tinytrace.core.tree_registry import KINDS, TUPLE
from tinytrace.core.trees import (
    IsLeaf,
    PyTreeDef,
    make_treedef,
    tree_flatten,
    tree_leaves,
    tree_structure,
)

NO_INITIALIZER = object()


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = NO_INITIALIZER, is_leaf: IsLeaf = None
) -> Any:
    """Folds the leaves of a pytree from the left, as `functools.reduce` folds a list.

    Raises: TypeError if there is neither a leaf nor an initializer.
    Source: `jax.tree_util.tree_reduce`.

    >>> tree_reduce(lambda total, leaf: total + leaf, [1, (2, 3)], 10)
    16
    """
    start = () if initializer is NO_INITIALIZER else (initializer,)
    return functools.reduce(function, tree_leaves(tree, is_leaf), *start)


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true (`jax.tree_util.tree_all`).

    >>> tree_all([True, {"a": 1}]), tree_all((True, 0))
    (True, False)
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any) -> Any:
    """Turns a tree of trees inside out: from `outer` of `inner` to `inner` of `outer`.

    With `inner_treedef=None` the structure of the first inner tree is taken.

    Raises: TypeError if the tree is not `outer_treedef.compose(inner_treedef)`.
    Source: `jax.tree_util.tree_transpose`.

    >>> tree_transpose(tree_structure([0, 0]), tree_structure({"x": 0}), [{"x": 1}, {"x": 2}])
    {'x': [1, 2]}
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    size = inner_treedef.num_leaves
    if len(leaves) != size * outer_treedef.num_leaves:
        raise TypeError(f"Mismatch\n{treedef}\n != \n{outer_treedef.compose(inner_treedef)}")
    return inner_treedef.unflatten([outer_treedef.unflatten(leaves[i::size]) for i in range(size)])


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every element is a leaf (`jax.tree_util.all_leaves`).

    >>> all_leaves([1, 2]), all_leaves([1, (2,)])
    (True, False)
    """
    items = list(iterable)
    if is_leaf is None:
        return not any(KINDS[type(item)] for item in items)
    return items == tree_leaves(items, is_leaf)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees of these structures (`jax.tree_util.treedef_tuple`).

    >>> treedef_tuple([tree_structure(1), tree_structure([1, 2])])
    PyTreeDef((*, [*, *]))
    """
    children = tuple(treedefs)
    if wrong := [child for child in children if not isinstance(child, PyTreeDef)]:
        raise TypeError(f"treedef_tuple takes PyTreeDefs, got {wrong[0]!r} of type {type(wrong[0])}.")
    return make_treedef(TUPLE, None, children)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the immediate children (`jax.tree_util.treedef_children`).

    >>> treedef_children(tree_structure([1, (2, 3)]))
    [PyTreeDef(*), PyTreeDef((*, *))]
    """
    return treedef.children()
