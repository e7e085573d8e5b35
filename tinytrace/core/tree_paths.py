"""Where in a tree: leaves with their key paths, prefixes of trees, and the places at which two trees disagree.

`prefix_errors` and `equality_errors` are asked after a comparison has failed, to name the path in the message.
"""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from tinytrace.core.key_paths import KeyPath, keystr, plain_key
from tinytrace.core.node_kinds import NodeKind
from tinytrace.core.tree_registry import KINDS
from tinytrace.core.trees import IsLeaf, PyTreeDef, tree_flatten, tree_flatten_one_level, tree_leaves, tree_structure


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """`tree_flatten` with each leaf's key path: `([(path, leaf), ...], treedef)`.

    Source: `jax.tree_util.tree_flatten_with_path`.

    >>> tree_flatten_with_path([5])
    ([((SequenceKey(idx=0),), 5)], PyTreeDef([*]))
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a pytree, each with its key path (`jax.tree_util.tree_leaves_with_path`).

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    pairs: list[tuple[KeyPath, Any]] = []
    _append_pairs(pairs, (), tree, is_leaf)
    return pairs


def tree_map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map` whose function also gets the key path: `f(path, leaf, *others)`.

    Raises: ValueError if `tree` is not a prefix of one of `rest`.
    Source: `jax.tree_util.tree_map_with_path`.

    >>> tree_map_with_path(lambda path, leaf: f"{keystr(path)} = {leaf}", {"a": [1]})
    {'a': ["['a'][0] = 1"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf)
    others = [treedef.flatten_up_to(other) for other in rest]
    return treedef.unflatten(map(f, [path for path, _ in pairs], [leaf for _, leaf in pairs], *others))


def _append_pairs(pairs: list[tuple[KeyPath, Any]], path: KeyPath, tree: Any, is_leaf: IsLeaf) -> None:
    """Append `(path, leaf)` for the leaves of the subtree at `path`."""
    kind = node_kind(tree, is_leaf)
    if kind is None:
        pairs.append((path, tree))
        return
    for key, child in zip(kind.keys(tree), kind.flatten(tree)[0], strict=True):
        if is_leaf is None and KINDS[type(child)] is None:
            pairs.append(((*path, key), child))
        else:
            _append_pairs(pairs, (*path, key), child, is_leaf)


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a prefix tree, each repeated for all the leaves of `full_tree` that it stands for.

    Raises: ValueError if the one is no prefix of the other; `prefix_errors` tells where.

    >>> broadcast_prefix((0, None), ([1, 2], {"a": 3}), is_leaf=lambda x: x is None)
    [0, 0, None]
    """
    leaves, treedef = tree_flatten(prefix_tree, is_leaf)
    repeated: list[Any] = []
    for leaf, subtree in zip(leaves, treedef.flatten_up_to(full_tree), strict=True):
        repeated.extend([leaf] * len(tree_leaves(subtree)))
    return repeated


def prefix_errors(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Callable[[str], ValueError]]:
    """Every place at which `prefix_tree` fails to be a prefix of `full_tree`.

    Returns: functions from the name of the argument (`"in_axes"`) to the error that shows the place.

    >>> [error] = prefix_errors({"a": (0, 1)}, {"a": (1, 2, 3)})
    >>> print(error("in_axes"))
    pytree structure error: different lengths of tuple at key path
        in_axes['a']
    At that key path, the prefix pytree in_axes has a subtree of type tuple of length 2, \
but the full pytree has a subtree of the same type but of length 3.
    """
    return list(walk_prefix((), prefix_tree, full_tree, is_leaf))


def walk_prefix(path: KeyPath, prefix: Any, full: Any, is_leaf: IsLeaf) -> Iterator[Callable[[str], ValueError]]:
    """Yields the disagreements at and below `path`."""
    kind = node_kind(prefix, is_leaf)
    if kind is None:  # a leaf is a prefix of any tree
        return
    problem = prefix_problem(kind, prefix, full)
    if problem is None:
        children = zip(kind.keys(prefix), kind.flatten(prefix)[0], kind.flatten(full)[0], strict=True)
        for key, prefix_child, full_child in children:
            yield from walk_prefix((*path, key), prefix_child, full_child, is_leaf)
        return
    headline, details = problem
    yield lambda name: ValueError(
        f"pytree structure error: {headline} at key path\n    {name}{keystr(path)}\n"
        f"At that key path, the prefix pytree {name} has a subtree of type{details}"
    )


def prefix_problem(kind: NodeKind, prefix: Any, full: Any) -> tuple[str, str] | None:
    """What is wrong between the roots of a prefix and a full tree: a headline and details, or None."""
    if type(prefix) is not type(full):
        return "different types", (
            f"\n    {type(prefix)}\nbut at the same key path the full pytree has a subtree of different type\n"
            f"    {type(full)}."
        )
    (children, data), (full_children, full_data) = one_level(prefix), one_level(full)
    if isinstance(prefix, (list, tuple)):
        name = type(prefix).__name__
        if len(prefix) != len(full):
            return f"different lengths of {name}", (
                f" {name} of length {len(prefix)}, but the full pytree has a subtree of the same type "
                f"but of length {len(full)}."
            )
    elif len(children) != len(full_children):
        keys, full_keys = kind.keys(prefix), kind.keys(full)
        return "different numbers of pytree children", (
            f"\n    {type(prefix)}\nwith {len(children)} child keys\n    {spaced(keys)}\n"
            f"but at the same key path the full pytree has a subtree of the same type "
            f"but with {len(full_children)} child keys\n    {spaced(full_keys)}\n"
            f"so the symmetric difference on key sets is\n    {spaced(in_one_only(keys, full_keys))}"
        )
    if data != full_data:
        lines = difflib.ndiff(str(data).splitlines(), str(full_data).splitlines())
        return "different pytree metadata", (
            f"\n    {type(prefix)}\nwith metadata\n    {data}\n"
            f"but at the same key path the full pytree has a subtree of the same type but with metadata\n"
            f"    {full_data}\nso the diff in the metadata at these pytree nodes is\n"
            + textwrap.indent("\n".join(lines), "    ")
        )
    return None


def equality_errors(tree1: Any, tree2: Any, is_leaf: IsLeaf = None) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Every place at which the structures of two trees differ.

    Returns: an iterator of `(path, what the first has, what the second has, explanation)`.

    >>> list(equality_errors([1, (2,)], [1, (2, 3)]))
    [((SequenceKey(idx=1),), 'tuple of length 1', 'tuple of length 2', 'the lengths do not match')]
    """
    return walk_equality((), tree1, tree2, is_leaf)


def equality_errors_pytreedef(tree1: PyTreeDef, tree2: PyTreeDef) -> Iterator[tuple[KeyPath, str, str, str]]:
    """`equality_errors` of two structures."""
    return equality_errors(
        tree1.unflatten([LEAF_STAND_IN] * tree1.num_leaves), tree2.unflatten([LEAF_STAND_IN] * tree2.num_leaves)
    )


def walk_equality(path: KeyPath, tree1: Any, tree2: Any, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Yields the differences at and below `path`."""
    kind = node_kind(tree1, is_leaf)
    if kind is None and node_kind(tree2, is_leaf) is None:
        return
    problem = equality_problem(kind, tree1, tree2)
    if problem is not None:
        yield (path, *problem)
    elif kind is not None:
        for key, child1, child2 in zip(kind.keys(tree1), kind.flatten(tree1)[0], kind.flatten(tree2)[0], strict=True):
            yield from walk_equality((*path, key), child1, child2, is_leaf)


def equality_problem(kind: NodeKind | None, tree1: Any, tree2: Any) -> tuple[str, str, str] | None:
    """How the roots of two trees differ: what the first is, what the second is, an explanation; or None."""
    type1, type2 = type(tree1), type(tree2)
    if type1 is not type2 or kind is None:
        return str(type1), str(type2), "their Python types differ"
    if isinstance(tree1, (list, tuple)) and len(tree1) != len(tree2):
        name = type1.__name__
        return f"{name} of length {len(tree1)}", f"{name} of length {len(tree2)}", "the lengths do not match"
    (children1, data1), (children2, data2) = one_level(tree1), one_level(tree2)
    if len(children1) != len(children2):
        difference = " ".join(repr(plain_key(key)) for key in in_one_only(kind.keys(tree1), kind.keys(tree2)))
        return (
            f"{type1} with {count_children(children1)}",
            f"{type2} with {count_children(children2)}",
            f"the numbers of children do not match, with the symmetric difference of key sets: {{{difference}}}",
        )
    if data1 != data2:
        return (
            f"{type1} with pytree metadata {data1}",
            f"{type2} with pytree metadata {data2}",
            "the pytree node metadata does not match",
        )
    return None


def node_kind(tree: Any, is_leaf: IsLeaf) -> NodeKind | None:
    """The kind of the root of `tree`, None if it is a leaf."""
    return None if is_leaf is not None and is_leaf(tree) else KINDS[type(tree)]


def one_level(tree: Any) -> tuple[Any, Any]:
    """The children and the static data of a tree known to be a node."""
    level = tree_flatten_one_level(tree)
    assert level is not None
    return level


def in_one_only(keys1: KeyPath, keys2: KeyPath) -> list[Any]:
    """The keys that stand in one of the two, in order: first those of the first."""
    return [key for key in keys1 if key not in keys2] + [key for key in keys2 if key not in keys1]


def spaced(keys: list[Any] | KeyPath) -> str:
    """The keys, without their syntax, in one line."""
    return " ".join(str(plain_key(key)) for key in keys)


def count_children(children: Any) -> str:
    """`1 child`, `2 children`."""
    return f"{len(children)} child{'ren' if len(children) > 1 else ''}"


class LeafStandIn(type):
    """The type of the leaves of a structure without a tree: it prints as what it is."""

    def __repr__(cls) -> str:
        return "pytree leaf"


LEAF_STAND_IN = LeafStandIn("Leaf", (), {})()
