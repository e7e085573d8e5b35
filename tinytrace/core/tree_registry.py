"""Which Python types are pytree nodes, and how each comes apart and goes back together.

One room per kind of container (`TupleKind`, `DictKind`, `CustomKind`, ...) holds everything the trees need
to know of it; the registry maps a type to its kind, and a type without one is a leaf. A subclass is not
its base: a subclass of dict is a leaf until it is registered (namedtuples are the one exception).
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from typing import Any, TypeVar

from tinytrace.core.key_paths import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, KeyPath, SequenceKey

T = TypeVar("T")
Cls = TypeVar("Cls", bound=type[Any])

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
        return tuple(map(SequenceKey, range(len(value))))

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
        return tuple(map(DictKey, sorted_keys(value)))

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
    """A `namedtuple` class that nobody registered: recognised by its `_fields`."""

    def flatten(self, value: Any) -> tuple[Sequence[Any], Any]:
        return value, None

    def keys(self, value: Any) -> KeyPath:
        return tuple(map(GetAttrKey, value._fields))

    def unflatten(self, data: Any, children: Sequence[Any]) -> Any:
        return self.type(*children)

    def match(self, data: Any, arity: int, value: Any) -> Sequence[Any]:
        if not isinstance(value, tuple) or not hasattr(value, "_fields"):
            raise ValueError(f"Expected named tuple, got {value!r}.")
        if len(value) != arity:
            raise ValueError(f"Named tuple arity mismatch: {len(value)} != {arity}; tuple: {value!r}.")
        if type(value) is not self.type:
            raise ValueError(f"Named tuple type mismatch: expected type: {self.type!r}, tuple: {value!r}.")
        return value

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


class KindTable(dict[type[Any], "NodeKind | None"]):
    """Type -> kind, `None` for leaves; a type seen for the first time is classified once."""

    def __missing__(self, node_type: type[Any]) -> NodeKind | None:
        is_namedtuple = issubclass(node_type, tuple) and hasattr(node_type, "_fields")
        kind = NamedTupleKind(node_type) if is_namedtuple else None
        self[node_type] = kind
        if kind is None:
            LEAF_TYPES.add(node_type)
        return kind


LEAF_TYPES: set[type[Any]] = set()  # the types seen so far that are leaves: `issuperset` is the fastest test there is


TUPLE = SequenceKind(tuple)
KINDS = KindTable({type(None): NoneKind(type(None)), tuple: TUPLE, list: SequenceKind(list), dict: DictKind(dict)})


def register_kind(kind: NodeKind, what: str = "custom") -> None:
    """Makes `kind.type` a node of every tree from now on; raises ValueError if it already is one."""
    known = KINDS.get(kind.type)
    if known is not None and not isinstance(known, NamedTupleKind):
        raise ValueError(f"Duplicate {what} PyTreeDef type registration for {kind.type!r}.")
    KINDS[kind.type] = kind
    LEAF_TYPES.discard(kind.type)


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], T],
) -> None:
    """Makes a type a pytree node, given how it comes apart and how it goes back together.

    `flatten_func(value) -> (children, aux_data)`; the children may be any pytrees, the aux data is static:
    it must have `==` and should be hashable. `unflatten_func(aux_data, children) -> value`.

    Raises: ValueError if `nodetype` is registered already.
    Source: `jax.tree_util.register_pytree_node`.

    >>> class Span:
    ...     def __init__(self, lo, hi): self.lo, self.hi = lo, hi
    >>> register_pytree_node(Span, lambda s: ((s.lo, s.hi), None), lambda _, ends: Span(*ends))
    """
    register_kind(CustomKind(nodetype, flatten_func, unflatten_func))


def register_pytree_node_class(cls: Cls) -> Cls:
    """Makes a class with methods `tree_flatten` and (class method) `tree_unflatten` a pytree node.

    Returns: the class, so that this is a decorator.
    Raises: ValueError if it is registered already; AttributeError if it has no `tree_unflatten`.
    Source: `jax.tree_util.register_pytree_node_class`.

    >>> @register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, x, y): self.x, self.y = x, y
    ...     def tree_flatten(self): return (self.x, self.y), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children): return cls(*children)
    """
    register_pytree_node(cls, methodcaller("tree_flatten"), cls.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[tuple[KeyEntry, Any]], Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Makes a type a pytree node whose children have keys of their own, shown in key paths.

    `flatten_with_keys(value) -> (((key, child), ...), aux_data)`. `flatten_func` is the same without keys,
    for speed.

    Raises: ValueError if `nodetype` is registered already.
    Source: `jax.tree_util.register_pytree_with_keys`.

    >>> class Box:
    ...     def __init__(self, item): self.item = item
    >>> register_pytree_with_keys(
    ...     Box, lambda b: ([(GetAttrKey("item"), b.item)], None), lambda _, items: Box(*items))
    """

    def flatten_without_keys(value: T) -> tuple[Iterable[Any], Any]:
        pairs, data = flatten_with_keys(value)
        return [child for _, child in pairs], data

    def keys(value: T) -> KeyPath:
        return tuple([key for key, _ in flatten_with_keys(value)[0]])

    register_kind(CustomKind(nodetype, flatten_func or flatten_without_keys, unflatten_func, keys))


def register_pytree_with_keys_class(cls: Cls) -> Cls:
    """Makes a class with `tree_flatten_with_keys` and (class method) `tree_unflatten` a pytree node.

    Returns: the class, so that this is a decorator.
    Raises: ValueError if it is registered already.
    Source: `jax.tree_util.register_pytree_with_keys_class`.

    >>> @register_pytree_with_keys_class
    ... class Cell:
    ...     def __init__(self, value): self.value = value
    ...     def tree_flatten_with_keys(self): return [(GetAttrKey("value"), self.value)], None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children): return cls(*children)
    """
    without_keys = methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, methodcaller("tree_flatten_with_keys"), cls.tree_unflatten, without_keys)
    return cls


def register_dataclass(
    nodetype: Cls,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Cls:
    """Makes a dataclass a pytree node: data fields are its children, meta fields are static.

    Without the lists (a form newer than JAX 0.4.35) every `init=True` field is data, except those declared
    with `field(metadata={"static": True})`.

    Returns: the class, so that this is a decorator.
    Raises: ValueError if the lists are not exactly the fields of the dataclass, or it is registered already.
    Source: `jax.tree_util.register_dataclass`.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weights: float
    ...     name: str = dataclasses.field(metadata={"static": True})
    """
    if data_fields is None and meta_fields is None and dataclasses.is_dataclass(nodetype):
        fields = [field for field in dataclasses.fields(nodetype) if field.init and field.name not in drop_fields]
        data_fields = [field.name for field in fields if not field.metadata.get("static")]
        meta_fields = [field.name for field in fields if field.metadata.get("static")]
    if data_fields is None or meta_fields is None:
        raise TypeError("register_dataclass() needs both data_fields and meta_fields, or, for a dataclass, neither.")
    if dataclasses.is_dataclass(nodetype):
        check_fields_complete(nodetype, {*data_fields, *meta_fields}, set(drop_fields))
    register_kind(DataclassKind(nodetype, data_fields, meta_fields), "custom dataclass")
    return nodetype


def register_static(cls: Cls) -> Cls:
    """Makes a hashable class a pytree node without children: its instances are static wherever they stand.

    Returns: the class, so that this is a decorator.
    Raises: ValueError if it is registered already.
    Source: `jax.tree_util.register_static`.

    >>> @register_static
    ... class Mode(str): pass
    """
    register_pytree_with_keys(cls, lambda value: ((), value), lambda value, _: value)
    return cls


def check_fields_complete(nodetype: type[Any], listed: set[str], dropped: set[str]) -> None:
    """Raises ValueError unless `listed` names each `init=True` field that is not dropped, and nothing else."""
    fields = {field.name for field in dataclasses.fields(nodetype) if field.init} - dropped
    if listed == fields:
        return
    message = "data_fields and meta_fields must include all dataclass fields with ``init=True`` and only them."
    if missing := fields - listed:
        message += f" Missing fields: {braced(missing)}. Add them to drop_fields to suppress this error."
    if unexpected := listed - fields:
        message += f" Unexpected fields: {braced(unexpected)}."
    raise ValueError(message)


def braced(names: set[str]) -> str:
    """The names as Python shows a set, in an order that does not depend on the hash seed."""
    return "{" + ", ".join(map(repr, sorted(names))) + "}"


register_kind(
    CustomKind(
        collections.OrderedDict,
        lambda value: (tuple(value.values()), tuple(value)),
        lambda keys, children: collections.OrderedDict(zip(keys, children, strict=True)),
        lambda value: tuple(map(DictKey, value)),
    )
)
register_kind(
    CustomKind(
        collections.defaultdict,
        lambda value: (tuple([value[key] for key in sorted_keys(value)]), (value.default_factory, sorted_keys(value))),
        lambda data, children: collections.defaultdict(data[0], zip(data[1], children, strict=True)),
        lambda value: tuple(map(DictKey, sorted_keys(value))),
    )
)
