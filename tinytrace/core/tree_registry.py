"""Which Python types are pytree nodes: the registry maps a type to its kind, and a type without one is a leaf.

How nodes come apart and go back together is told by their kinds, in `node_kinds`. A subclass is not its base: a
subclass of dict is a leaf until it is registered (namedtuples are the one exception).
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from typing import Any, TypeVar

from tinytrace._dispatch import set_node_kinds
from tinytrace.core.key_paths import DictKey, KeyEntry, KeyPath
from tinytrace.core.node_kinds import (
    CustomKind,
    DataclassKind,
    DictKind,
    NamedTupleKind,
    NodeKind,
    NoneKind,
    SequenceKind,
    sorted_keys,
)

T = TypeVar("T")
Cls = TypeVar("Cls", bound=type[Any])

class KindTable(dict[type[Any], "NodeKind | None"]):
    """Type -> kind, `None` for leaves; a type seen for the first time is classified once."""

    def __missing__(self, node_type: type[Any]) -> NodeKind | None:
        is_namedtuple = issubclass(node_type, tuple) and hasattr(node_type, "_fields")
        kind = NamedTupleKind(node_type) if is_namedtuple else None
        self[node_type] = kind
        return kind


TUPLE = SequenceKind(tuple)
KINDS = KindTable({type(None): NoneKind(type(None)), tuple: TUPLE, list: SequenceKind(list), dict: DictKind(dict)})
set_node_kinds(KINDS)


def register_kind(kind: NodeKind, what: str = "custom") -> None:
    """Makes `kind.type` a node of every tree from now on; raises ValueError if it already is one."""
    known = KINDS.get(kind.type)
    if known is not None and not isinstance(known, NamedTupleKind):
        raise ValueError(f"Duplicate {what} PyTreeDef type registration for {kind.type!r}.")
    KINDS[kind.type] = kind


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
