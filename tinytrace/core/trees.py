"""Pytrees: nested containers taken apart into a flat list of leaves and a treedef that can rebuild them.

Everything that takes or returns arrays in this project takes or returns pytrees of arrays; this file is what
makes that one list. Treedefs of equal trees are the same object wherever that is safe: comparing them is comparing
addresses. The walks over trees are C (csrc/trees.c); `tinytrace/pure/trees.py` is what they do, in Python.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tinytrace._dispatch import append_leaves, built, flatten_into, set_trees, subtrees
from tinytrace.core.node_kinds import NamedTupleKind, NodeKind
from tinytrace.core.tree_registry import KINDS, register_pytree_node

IsLeaf = Callable[[Any], bool] | None


class PyTreeDef:
    """The structure of a pytree without its leaves: hashable, comparable, printable.

    Made by `tree_structure` and `tree_flatten`, never directly.

    >>> tree_structure({"b": 1, "a": (2, [3, None])})
    PyTreeDef({'a': (*, [*, None]), 'b': *})
    """

    __slots__ = ("_children", "_data", "_hash", "_kind", "_token", "num_leaves", "num_nodes")

    def __init__(self, kind: NodeKind | None, data: Any, children: tuple[PyTreeDef, ...], token: int | None) -> None:
        self._kind, self._data, self._children, self._token = kind, data, children, token
        self._hash: int | None = None
        self.num_leaves: int = 1 if kind is None else sum([child.num_leaves for child in children])
        self.num_nodes: int = 1 + sum([child.num_nodes for child in children])

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves; ValueError if there are too few or too many of them."""
        leaves = list(leaves)
        if len(leaves) < self.num_leaves:
            raise ValueError(f"Too few leaves for PyTreeDef; expected {self.num_leaves}, got {len(leaves)}")
        if len(leaves) > self.num_leaves:
            raise ValueError(f"Too many leaves for PyTreeDef; expected {self.num_leaves}.")
        return built(self, leaves)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of `tree` at the places where this structure has leaves; ValueError where it does not fit."""
        return subtrees(self, tree)

    def children(self) -> list[PyTreeDef]:
        """The structures of the immediate children."""
        return list(self._children)

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """This structure with `inner` in the place of each leaf."""
        if self._kind is None:
            return inner
        return make_treedef(self._kind, self._data, tuple([child.compose(inner) for child in self._children]))

    def node_data(self) -> tuple[type[Any], Any] | None:
        """The type of the root and its static data; None for a leaf."""
        if self._kind is None:
            return None
        return self._kind.type, list(self._data) if self._kind.type is dict else self._data

    @staticmethod
    def make_from_node_data_and_children(
        registry: PyTreeRegistry, node_data: tuple[type[Any], Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """The inverse of `node_data` and `children`; the registry is always the default one."""
        if node_data is None:
            return LEAF
        kind = KINDS[node_data[0]]
        if kind is None:
            raise ValueError(f"Unrecognized type {node_data[0]!r}.")
        data = tuple(node_data[1]) if node_data[0] is dict else node_data[1]
        return make_treedef(kind, data, tuple(children))

    def walk(self, f_node: Callable[[Any, Any], Any], f_leaf: Callable[[Any], Any], leaves: Iterable[Any]) -> Any:
        """Folds from the leaves up: `f_leaf(leaf)` at leaves, `f_node(child_results, node_data)` at nodes."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"Too {'few' if len(leaves) < self.num_leaves else 'many'} leaves for PyTreeDef")
        return self._walk(f_node, f_leaf, iter(leaves))

    def _walk(self, f_node: Callable[[Any, Any], Any], f_leaf: Callable[[Any], Any], leaves: Iterator[Any]) -> Any:
        if self._kind is None:
            return f_leaf(next(leaves))
        parts = tuple([child._walk(f_node, f_leaf, leaves) for child in self._children])
        return f_node(parts, list(self._data) if self._kind.type is dict else self._data)

    def from_iterable_tree(self, tree: Any) -> Any:
        """The tree of this structure whose leaves stand in `tree`, nested iterables of the same arities."""
        if self._kind is None:
            return tree
        parts = list(tree)
        if len(parts) != len(self._children):
            raise ValueError("Arity mismatch between trees")
        built = [child.from_iterable_tree(part) for child, part in zip(self._children, parts, strict=True)]
        return self._kind.unflatten(self._data, built)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return (
            self._kind is other._kind
            and self.num_nodes == other.num_nodes
            and not (self._data != other._data)
            and self._children == other._children
        )

    def __hash__(self) -> int:
        if self._hash is None:
            try:
                self._hash = hash((self._kind, self._data, self._children))
            except TypeError:  # static data without a hash, such as a dict: equality alone must tell
                self._hash = hash((self._kind, self._children))
        return self._hash

    def __repr__(self) -> str:
        return f"PyTreeDef({self._text()})"

    def _text(self) -> str:
        return "*" if self._kind is None else self._kind.text(self._data, [child._text() for child in self._children])

    def __reduce__(self) -> tuple[Any, ...]:
        return PyTreeDef.make_from_node_data_and_children, (default_registry, self.node_data(), self._children)


LEAF = PyTreeDef(None, None, (), token=0)
TOKENS = itertools.count(1)
INTERNED: dict[Any, PyTreeDef] = {}
INTERNED_LIMIT = 100_000
EXACT_TYPES = frozenset({str, type(None)})  # equal values of these are the same in every respect; 1 == True is not


def make_treedef(kind: NodeKind, data: Any, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
    """The treedef of these parts: the same object as last time whenever the data and the children allow it."""
    tokens = tuple([child._token for child in children])
    if None in tokens or not (data is None or is_exact(data)):
        return PyTreeDef(kind, data, children, token=None)
    known = INTERNED.get((kind, data, tokens))
    if known is not None:
        return known
    if len(INTERNED) >= INTERNED_LIMIT:
        INTERNED.clear()  # equal treedefs made before and after are two objects, and still equal
    return INTERNED.setdefault((kind, data, tokens), PyTreeDef(kind, data, children, next(TOKENS)))


set_trees(KINDS, PyTreeDef, LEAF, INTERNED, make_treedef)


def is_exact(data: Any) -> bool:
    """Whether node data equal to `data` is interchangeable with it (`True` and `1` are equal, and are not)."""
    if type(data) is tuple:
        return EXACT_TYPES.issuperset(map(type, data))
    return type(data) in EXACT_TYPES


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Takes a pytree apart into its leaves, left to right, and its structure.

    `is_leaf(subtree)` answering true stops the descent there.

    Returns: `(leaves, treedef)`.
    Raises: ValueError for a dict whose keys cannot be sorted.
    Source: `jax.tree_util.tree_flatten`.

    >>> tree_flatten({"b": 3, "a": (1, 2)})
    ([1, 2, 3], PyTreeDef({'a': (*, *), 'b': *}))
    """
    leaves: list[Any] = []
    treedef: PyTreeDef = flatten_into(leaves, tree, is_leaf)
    return leaves, treedef


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Builds the tree of structure `treedef` with these leaves: the inverse of `tree_flatten`.

    Raises: ValueError if there are too few or too many leaves.
    Source: `jax.tree_util.tree_unflatten`.

    >>> tree_unflatten(tree_structure((0, [0, 0])), [1, 2, 3])
    (1, [2, 3])
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a pytree, left to right (`jax.tree_util.tree_leaves`).

    >>> tree_leaves([1, (2, None), {"a": 3}])
    [1, 2, 3]
    """
    if is_leaf is not None:
        return tree_flatten(tree, is_leaf)[0]
    leaves: list[Any] = []
    append_leaves(leaves, tree)
    return leaves


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a pytree, without its leaves (`jax.tree_util.tree_structure`).

    >>> tree_structure([1, (2, None)])
    PyTreeDef([*, (*, None)])
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Applies `f` to each leaf of `tree`, together with what stands at the same place in each of `rest`.

    Returns: a tree of the structure of `tree`.
    Raises: ValueError if `tree` is not a prefix of one of `rest`.
    Source: `jax.tree_util.tree_map`.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    return treedef.unflatten(map(f, leaves, *[treedef.flatten_up_to(other) for other in rest]))


def tree_flatten_one_level(tree: Any) -> tuple[Sequence[Any], Any] | None:
    """The children of a node and its static data; None for a leaf.

    >>> tree_flatten_one_level({"a": [1, 2], "b": 3})
    (([1, 2], 3), ('a', 'b'))
    """
    kind = KINDS[type(tree)]
    if kind is None:
        return None
    children, data = kind.flatten(tree)
    if isinstance(kind, NamedTupleKind):
        data = kind.type
    return tuple(children), data


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """Builds the tree of structure `treedef` whose leaves stand in `xs`, nested iterables of the same arities.

    Raises: ValueError if an arity differs.
    Source: `jax.tree_util.build_tree`.

    >>> build_tree(tree_structure([(0, 0), {"a": 0}]), [[1, 2], [3]])
    [(1, 2), {'a': 3}]
    """
    return treedef.from_iterable_tree(xs)


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is a single node: a leaf, or a container without children.

    Source: `jax.tree_util.treedef_is_leaf`.

    >>> treedef_is_leaf(tree_structure(1)), treedef_is_leaf(tree_structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


class PyTreeRegistry:
    """The one registry of node types, under the methods other libraries call on `default_registry`."""

    def flatten(self, tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
        """`tree_flatten`."""
        return tree_flatten(tree, is_leaf)

    def flatten_one_level(self, tree: Any) -> tuple[Sequence[Any], Any] | None:
        """`tree_flatten_one_level`."""
        return tree_flatten_one_level(tree)

    def register_node(
        self, nodetype: type[Any], flatten_func: Callable[[Any], Any], unflatten_func: Callable[[Any, Any], Any]
    ) -> None:
        """`register_pytree_node`."""
        register_pytree_node(nodetype, flatten_func, unflatten_func)

    def __reduce__(self) -> str:
        return "default_registry"


default_registry = PyTreeRegistry()


class CallableBox:
    """A `functools.partial` that `Partial` holds as its function: it hides the type, so that the two do not merge."""

    def __init__(self, fun: functools.partial[Any]) -> None:
        self.fun = fun
        self.func, self.args, self.keywords = fun.func, fun.args, fun.keywords

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.fun)

    def __eq__(self, other: object) -> bool:
        return bool(self.fun == (other.fun if isinstance(other, CallableBox) else other))

    def __repr__(self) -> str:
        return f"_HashableCallableShim({self.fun!r})"


class Partial(functools.partial):  # type: ignore[type-arg]
    """`functools.partial` as a pytree: its arguments are children, its function is static.

    Such a function can be an argument of a transformed function.

    Source: `jax.tree_util.Partial`.

    >>> tree_map(lambda x: 10 * x, Partial(max, 1, 2))()
    20
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Partial:
        boxed = CallableBox(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, boxed, *args, **kwargs)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
