"""`infeed` and `outfeed`: a program takes arrays from a queue of the device and hands others on, while it runs.

The host puts arrays in with `jax.devices()[0].transfer_to_infeed(arrays)` and takes them out with
`transfer_from_outfeed(shape)`; whoever comes too early waits, which is why a program that waits runs in a thread.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.control_flow.effects import (
    Effect,
    control_flow_allowed_effects,
    custom_derivatives_allowed_effects,
    lowerable_effects,
    remat_allowed_effects,
)
from tinytrace.core.array import CPU
from tinytrace.core.avals import ShapedArray
from tinytrace.core.kinds import HostCall, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.storage import storage_type
from tinytrace.core.trees import tree_flatten, tree_leaves, tree_unflatten
from tinytrace.lax.tokens import TOKEN, abstract_token


class InOutFeedEffect(Effect):
    """That a program takes from a queue of the device, or puts into one."""


infeed_effect, outfeed_effect = InOutFeedEffect(), InOutFeedEffect()
for _place in (lowerable_effects, control_flow_allowed_effects, custom_derivatives_allowed_effects,
               remat_allowed_effects):
    _place.add_type(InOutFeedEffect)


def infeed(token: Any, shape: Any = None, partitions: Any = None) -> tuple[Any, Any]:
    """Return the next arrays that were fed to the device, of the types in the tree `shape`, and a token.

    Raises: TypeError for what is no token, or no type.

    >>> jax.devices()[0].transfer_to_infeed((np.float32([1, 2]),))
    >>> jax.jit(lambda: lax.infeed(lax.create_token(), jax.core.ShapedArray((2,), jnp.dtype("float32")))[0])()
    Array([1., 2.], dtype=float32)
    """
    shapes, tree = tree_flatten(shape)
    for aval in shapes:
        if not isinstance(aval, ShapedArray):
            raise TypeError(f"shape argument to infeed must be a pytree of ShapedArray values, got {aval}")
    if partitions is not None:
        _check_partitions("infeed", partitions)
        partitions = (*partitions, None)
    *values, token = infeed_p.bind(token, shapes=tuple(shapes), partitions=partitions)
    return tree_unflatten(tree, values), token


def outfeed(token: Any, xs: Any, partitions: Any = None) -> Any:
    """Hand the arrays of the tree `xs` on to the host; returns a token.

    Raises: TypeError for what is no token.
    """
    if partitions is not None:
        _check_partitions("outfeed", partitions)
    return outfeed_p.bind(token, *tree_leaves(xs), partitions=partitions)


def _check_partitions(name: str, partitions: Any) -> None:
    if type(partitions) is not tuple:
        raise ValueError(f"'partitions' argument to {name} should be a tuple, got {partitions}")


class Feed(Primitive):
    """The family: operations on a queue, which are called once wherever the program comes to them.

    As tokens, they are in no registry.
    """

    def __init__(self) -> None:
        pass

    jvp = refuse("what is fed does not move")
    transpose = refuse("what is fed does not move")
    batch = refuse("a queue has one end")

    def call(self, avals: Sequence[ShapedArray], *args: Any) -> list[Any]:
        """Do it; `avals`: the types of the results."""
        raise NotImplementedError(self.name)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        return HostCall(lambda *args: self.call(out_avals, *args))

    def __reduce__(self) -> tuple[Callable[[str], Primitive], tuple[str]]:
        return _operation, (self.name,)


class Infeed(Feed):
    """`b:f32[2] c:Tok = infeed[shapes partitions] a: Tok`."""

    name = "infeed"
    multiple_results = True

    def abstract_eval(self, token: ShapedArray, *, shapes: Sequence[ShapedArray], partitions: Any) -> list[ShapedArray]:
        if token is not abstract_token:
            raise TypeError("First argument to infeed must be a token")
        return [*shapes, abstract_token]

    def effects(self, *avals: ShapedArray, **params: Any) -> frozenset[Any]:
        return frozenset([infeed_effect])

    def impl(self, token: Any, *, shapes: Sequence[ShapedArray], partitions: Any) -> list[Any]:
        return self.call([*shapes, abstract_token])

    def call(self, avals: Sequence[ShapedArray], *args: Any) -> list[Any]:
        values = CPU.infeed.get()
        given = [(x.shape, x.dtype) for x in values]
        wanted = [(aval.shape, aval.dtype) for aval in avals[:-1]]
        if given != wanted:
            raise RuntimeError(f"infeed wants arrays of types {_types(wanted)}, and was fed {_types(given)}")
        return [*values, np.zeros((), storage_type(TOKEN))]


class Outfeed(Feed):
    """`c:Tok = outfeed[partitions] a: Tok b: f32[2]`."""

    name = "outfeed"

    def abstract_eval(self, token: ShapedArray, *avals: ShapedArray, partitions: Any) -> ShapedArray:
        if token is not abstract_token:
            raise TypeError("First argument to outfeed must be a token")
        return abstract_token

    def effects(self, *avals: ShapedArray, **params: Any) -> frozenset[Any]:
        return frozenset([outfeed_effect])

    def impl(self, *args: Any, partitions: Any) -> Any:
        return self.call([], *args)[0]

    def call(self, avals: Sequence[ShapedArray], *args: Any) -> list[Any]:
        CPU.outfeed.put(tuple(np.array(x) for x in args[1:]))
        return [np.zeros((), storage_type(TOKEN))]


def _types(types: Sequence[tuple[Any, Any]]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in types) or "nothing"


infeed_p, outfeed_p = Infeed(), Outfeed()


def _operation(name: str) -> Primitive:
    """Return a pickled operation."""
    return {"infeed": infeed_p, "outfeed": outfeed_p}[name]
