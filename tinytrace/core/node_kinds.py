"""The kinds of containers that are pytree nodes: how each comes apart and goes back together.

One room per kind (`NoneKind`, `SequenceKind`, `DictKind`, `CustomKind`, ...) holds everything that trees need to know
of it; which Python types are of which kind is told in `tree_registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinytrace.core.key_paths import FlattenedIndexKey, GetAttrKey, KeyPath, dict_keys, sequence_keys

NONE_IS_NO_PREFIX = (
    "\n\nIn previous releases of JAX, flatten-up-to used to consider None to be a tree-prefix of non-None values. "
    "To obtain the previous behavior, you can usually write:\n"
    "  jax.tree.map(lambda x, y: None if x is None else f(x, y), a, b, is_leaf=lambda x: x is None)"
)


class NodeKind:
    """What the trees ask of a container type, in the order in which a tree is taken apart and rebuilt.

    `data` is the part of a node that is not a child (the keys of a dict, the aux data of a custom node):
    it lives in the treedef, so it takes part in `==` and, through that, in the cache keys of `jit`.
    """

    reader: Any = None
    """How the hit path of calls (csrc/keys.c) takes a node apart: `tuple`, by its items; two tuples of names, by its
    attributes, the second ones static; a function, as `flatten` does; None: not at all."""

    def __init__(self, node_type: type[Any]) -> None:
        self.type = node_type

    def flatten(self, value: Any) -> tuple[Sequence[Any], Any]:
        """`(children, data)` of one node."""
        raise NotImplementedError

    def keys(self, value: Any) -> KeyPath:
        """The key of every child, in the order of `flatten`."""
        raise NotImplementedError

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        """The node made of `children`: the inverse of `flatten`."""
        raise NotImplementedError

    def match(self, data: Any, arity: int, value: Any) -> Sequence[Any]:
        """The children of `value`, which must be a node like the one with this `data` and number of children."""
        raise NotImplementedError

    def text(self, data: Any, children: Sequence[str]) -> str:
        """How a treedef prints this node."""
        raise NotImplementedError


class NoneKind(NodeKind):
    """`None`: a node without children."""

    def flatten(self, value: Any) -> tuple[Sequence[Any], Any]:
        return (), None

    def keys(self, value: Any) -> KeyPath:
        return ()

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        return None

    def match(self, data: Any, arity: int, value: Any) -> Sequence[Any]:
        if value is not None:
            raise ValueError(f"Expected None, got {value!r}.{NONE_IS_NO_PREFIX}")
        return ()

    def text(self, data: Any, children: Sequence[str]) -> str:
        return "None"


class SequenceKind(NodeKind):
    """`tuple` and `list`."""

    def flatten(self, value: Any) -> tuple[Sequence[Any], Any]:
        return value, None

    def keys(self, value: Any) -> KeyPath:
        return sequence_keys(len(value))

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        return self.type(children)

    def match(self, data: Any, arity: int, value: Any) -> Sequence[Any]:
        name = self.type.__name__
        if type(value) is not self.type:
            raise ValueError(f"Expected {name}, got {value!r}.")
        if len(value) != arity:
            raise ValueError(f"{name.capitalize()} arity mismatch: {len(value)} != {arity}; {name}: {value!r}.")
        return value  # type: ignore[no-any-return]

    def text(self, data: Any, children: Sequence[str]) -> str:
        if self.type is list:
            return f"[{', '.join(children)}]"
        return f"({', '.join(children)}{',' if len(children) == 1 else ''})"


class DictKind(NodeKind):
    """`dict`: children in the order of the sorted keys, so that insertion order does not matter."""

    def flatten(self, value: Any) -> tuple[Sequence[Any], Any]:
        try:
            keys = tuple(sorted(value))
        except TypeError as error:
            raise unsortable_keys() from error
        return [value[key] for key in keys], keys

    def keys(self, value: Any) -> KeyPath:
        return dict_keys(sorted_keys(value))

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        return dict(zip(data, children))  # noqa: B905 (the treedef has counted; `strict` would cost a third more)

    def match(self, data: Any, arity: int, value: Any) -> Sequence[Any]:
        if type(value) is not dict:
            raise ValueError(f"Expected dict, got {value!r}.")
        if value.keys() != set(data):
            raise ValueError(f"Dict key mismatch; expected keys: {list(data)!r}; dict: {value!r}.")
        return [value[key] for key in data]

    def text(self, data: Any, children: Sequence[str]) -> str:
        return "{" + ", ".join(f"{key!r}: {child}" for key, child in zip(data, children, strict=True)) + "}"


class NamedTupleKind(NodeKind):
    """A `namedtuple` class that nobody registered: recognised by its `_fields`, read by its items, as JAX reads it.

    Its methods may say something else, `__iter__` among them, and are not asked: `unflatten` is given the fields.
    """

    reader = tuple

    def flatten(self, value: Any) -> tuple[Sequence[Any], Any]:
        return tuple(tuple.__iter__(value)), None

    def keys(self, value: Any) -> KeyPath:
        return tuple(map(GetAttrKey, value._fields))

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        return self.type(*children)

    def match(self, data: Any, arity: int, value: Any) -> Sequence[Any]:
        if not isinstance(value, tuple) or not hasattr(value, "_fields"):
            raise ValueError(f"Expected named tuple, got {value!r}.")
        items = tuple(tuple.__iter__(value))
        if len(items) != arity:
            raise ValueError(f"Named tuple arity mismatch: {len(items)} != {arity}; tuple: {value!r}.")
        if type(value) is not self.type:
            raise ValueError(f"Named tuple type mismatch: expected type: {self.type!r}, tuple: {value!r}.")
        return items

    def text(self, data: Any, children: Sequence[str]) -> str:
        return f"CustomNode(namedtuple[{self.type.__name__}], [{', '.join(children)}])"


class CustomKind(NodeKind):
    """A type registered with functions that flatten and unflatten it."""

    title = "Custom node"
    data_title = "custom node"

    def __init__(
        self,
        node_type: type[Any],
        flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
        unflatten_func: Callable[[Any, Any], Any],
        keys_func: Callable[[Any], KeyPath] | None = None,
    ) -> None:
        super().__init__(node_type)
        self.flatten_func, self.unflatten_func, self.keys_func = flatten_func, unflatten_func, keys_func
        self.reader = flatten_func

    def flatten(self, value: Any) -> tuple[Sequence[Any], Any]:
        pair = self.flatten_func(value)
        wanted = "The to_iterable function for a custom PyTree node should return a (children, aux_data) tuple"
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(f"{wanted}, got {pair!r}")
        if not isinstance(pair[0], Iterable):
            raise ValueError(f"{wanted} where 'children' is iterable, got {pair!r}")
        return tuple(pair[0]), pair[1]

    def keys(self, value: Any) -> KeyPath:
        if self.keys_func is not None:
            return self.keys_func(value)
        return tuple(map(FlattenedIndexKey, range(len(self.flatten(value)[0]))))

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        return self.unflatten_func(data, tuple(children))

    def match(self, data: Any, arity: int, value: Any) -> Sequence[Any]:
        if type(value) is not self.type:
            raise ValueError(f"{self.title} type mismatch: expected type: {self.type!r}, value: {value!r}.")
        children, other = self.flatten(value)
        if data != other:
            raise ValueError(f"Mismatch {self.data_title} data: {data!r} != {other!r}; value: {value!r}.")
        if len(children) != arity:
            raise ValueError(f"{self.title} arity mismatch: {len(children)} != {arity}; value: {value!r}.")
        return children

    def text(self, data: Any, children: Sequence[str]) -> str:
        return f"CustomNode({self.type.__name__}[{data}], [{', '.join(children)}])"


class DataclassKind(CustomKind):
    """A class whose state is its fields: data fields are children, meta fields are static."""

    title = "Custom dataclasss node"  # the spelling of JAX 0.4.35, whose texts are the contract
    data_title = "custom dataclass node"

    def __init__(self, node_type: type[Any], data_fields: Sequence[str], meta_fields: Sequence[str]) -> None:
        self.data_fields, self.meta_fields = tuple(data_fields), tuple(meta_fields)
        data_keys = tuple(map(GetAttrKey, self.data_fields))
        super().__init__(node_type, self.split, self.join, lambda value: data_keys)
        self.reader = self.data_fields, self.meta_fields

    def split(self, value: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The data fields and the meta fields of `value`."""
        return (
            tuple([getattr(value, name) for name in self.data_fields]),
            tuple([getattr(value, name) for name in self.meta_fields]),
        )

    def join(self, meta: tuple[Any, ...], data: tuple[Any, ...]) -> Any:
        """A new instance, made by keywords."""
        fields = (*self.meta_fields, *self.data_fields)
        return self.type(**dict(zip(fields, (*meta, *data), strict=True)))


def sorted_keys(value: dict[Any, Any]) -> tuple[Any, ...]:
    """The keys of a dict in their sorted order, which is the order of its children."""
    try:
        return tuple(sorted(value))
    except TypeError as error:
        raise unsortable_keys() from error


def unsortable_keys() -> ValueError:
    """The error for a dict whose keys have no order."""
    return ValueError("Comparator raised exception while sorting pytree dictionary keys.")
