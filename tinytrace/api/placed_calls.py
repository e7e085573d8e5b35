"""Where the arguments and results of jitted functions lie: `in_shardings` and `out_shardings`.

There is one device, so no sharding moves a byte: the arguments of a call are held to `in_shardings`, and its results
are given the `out_shardings`. Source: https://jax.readthedocs.io/en/latest/_autosummary/jax.jit.html.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.api.devices import lies_at
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.core import views
from tinytrace.core.array import CPU
from tinytrace.core.avals import aval_of, is_valid_type
from tinytrace.core.dce import dce_jaxpr
from tinytrace.core.jaxpr import Jaxpr
from tinytrace.core.placements import given_sharding
from tinytrace.core.tree_paths import broadcast_prefix, prefix_errors
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_leaves, tree_structure
from tinytrace.records import NamedTuple


class Places(NamedTuple):
    """What `jit` was told: a sharding, or a tree of such, for the tuple of positional arguments and for the result."""

    ins: Any = None
    outs: Any = None

    def check_call(self, args: tuple[Any, ...], has_keywords: bool, names: Callable[[], Sequence[str]]) -> None:
        """Raise ValueError, in JAX's words, unless the dynamic arguments of a call can lie as `in_shardings` says."""
        if self.ins is None:
            return
        if has_keywords:
            raise ValueError("pjit does not support kwargs when in_shardings is specified.")
        leaves = tree_leaves(args)
        for i, (leaf, place) in enumerate(zip(leaves, _of_arguments(self.ins, args), strict=True)):
            if place is not None and is_valid_type(leaf):
                called = names()
                which = f" with pytree key path {called[i]}" if i < len(called) else ""
                as_sharding(place).require_fit(aval_of(leaf).shape, f"pjit arguments{which}")

    def of_leaves(self, dynamic: Any, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Return for each leaf of the dynamic arguments the sharding that it was given, or has; None for the others."""
        told = [None] * len(leaves) if self.ins is None else _of_arguments(self.ins, dynamic[0])
        return tuple(_own_sharding(leaf) if place is None else as_sharding(place)
                     for leaf, place in zip(leaves, told, strict=True))


NO_PLACES = Places()


def refuse_no_shardings(name: str, shardings: Any) -> None:
    """Raise TypeError when the argument `name` of `jit` has leaves that are neither shardings nor specs; of those that
    only `pmap` gives, ValueError.
    """
    if shardings is None:
        return
    for one in tree_leaves(shardings):
        if not isinstance(one, (views.sharding.Sharding, views.sharding.PartitionSpec)):
            raise TypeError(f"{name} leaf specifications are expected to be PartitionSpec instances or None, but got "
                            f"{one}")
        if isinstance(one, views.sharding.Sharding):
            one.refuse_of_pmap(name)


def with_shardings(results: Any, shardings: Any) -> Any:
    """Return a tree of Arrays or ShapeDtypeStructs whose leaves lie as `shardings`, a prefix of the tree, says.

    Raises: ValueError when it is no prefix, or a leaf has too few axes.
    """
    leaves, tree = tree_flatten(results)
    return tree.unflatten([leaf if place is None else _result_at(leaf, place)
                           for leaf, place in zip(leaves, shardings_of_results(tree, shardings), strict=True)])


def shardings_of_results(tree: PyTreeDef, shardings: Any) -> list[Any]:
    """Return for each leaf of a result the sharding that `out_shardings` says; None where it says nothing.

    Raises: ValueError when it is no prefix of the tree.
    """
    if shardings is None:
        return [None] * tree.num_leaves
    places = _broadcast(shardings, tree.unflatten([PytreeLeaf()] * tree.num_leaves), "pjit out_shardings")
    return [place if place is None else as_sharding(place) for place in places]


def shardings_of_arguments(jaxpr: Jaxpr, given: Sequence[Any], keep_unused: bool) -> list[Any]:
    """Return how the arguments of a compiled function lie, the last inputs of its jaxpr; None for those that it drops.

    given: per argument the sharding that it was given or has; any other lies whole on every device.
    """
    used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), keep_unused)[1][len(jaxpr.invars) - len(given):]
    whole = views.gspmd_sharding.GSPMDSharding.get_replicated([CPU])
    return [(whole if place is None else place) if is_used else None
            for place, is_used in zip(given, used, strict=True)]


def as_sharding(place: Any) -> Any:
    """Return a sharding; a spec that stands alone is of the mesh in use, and without one says nothing."""
    if isinstance(place, views.sharding.Sharding):
        return place
    mesh = views.sharding.meshes_in_use.innermost
    return views.sharding.SingleDeviceSharding(CPU) if mesh.empty else views.sharding.NamedSharding(mesh, place)


class PytreeLeaf:
    """What stands for a value where only a tree is known: errors name its class."""

    def __repr__(self) -> str:
        return "pytree leaf"


PytreeLeaf.__module__ = "jax._src.pjit"  # as in the errors of JAX


def _result_at(leaf: Any, sharding: Any) -> Any:
    sharding.require_fit(leaf.shape, "pjit outputs")
    if isinstance(leaf, ShapeDtypeStruct):
        return ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding, weak_type=leaf.weak_type)
    return lies_at(leaf, sharding)


def _own_sharding(leaf: Any) -> Any:
    return leaf.sharding if isinstance(leaf, ShapeDtypeStruct) else given_sharding(leaf)


def _of_arguments(shardings: Any, args: tuple[Any, ...]) -> list[Any]:
    """Return the sharding, or None, of each leaf of the positional arguments.

    Raises: ValueError when `shardings` is no prefix of their tuple.
    """
    what = "pjit in_shardings"
    shardings = tuple(shardings) if type(shardings) is list else shardings
    if not _is_leaf(shardings) and (type(shardings) is not tuple or len(shardings) != len(args)):
        text = (f"{what} specification must be a tree prefix of the positional arguments tuple passed to the "
                f"`pjit`-decorated function. In particular, {what} must either be a None, a PartitionSpec, or a tuple "
                "of length equal to the number of positional arguments.")
        text += (f" But {what} is not a tuple: got {type(shardings)} instead." if type(shardings) is not tuple else
                 f" But {what} is the wrong length: got a tuple or list of length {len(shardings)} for an args tuple of"
                 f" length {len(args)}.")
        if len(args) == 1 and not prefix_errors(shardings, args[0]):
            text += (f" Given the corresponding argument being passed, it looks like {what} might need to be wrapped "
                     "in a singleton tuple.")
        raise ValueError(text)
    return _broadcast(shardings, args, what)


def _is_leaf(shardings: Any) -> bool:
    return shardings is None or tree_structure(shardings) == tree_structure(0)


def _broadcast(shardings: Any, full: Any, what: str) -> list[Any]:
    try:
        places: list[Any] = broadcast_prefix(shardings, full, is_leaf=lambda one: one is None)
    except ValueError:
        leaves, tree = tree_flatten(full)
        error, *_ = prefix_errors(shardings, tree.unflatten([PytreeLeaf()] * len(leaves)))
        raise error(what) from None
    return places
