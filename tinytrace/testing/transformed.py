"""Transformations as functions of functions, which keep the arguments: what a law or a strategy may apply in a row.

    Transformation("mapped", "pushed")(f)(x)     pushed(mapped(f))(x)

Results of a transformed function are a flat list of its floats; a derivative is taken in the direction of ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.api.autodiff import jvp, linearize, vjp
from tinytrace.api.checkpointing import checkpoint
from tinytrace.api.jit import jit
from tinytrace.api.vmapping import vmap
from tinytrace.core.avals import aval_of
from tinytrace.core.dtypes import FLOAT0, is_inexact
from tinytrace.core.trees import tree_leaves, tree_map
from tinytrace.numpy import ones, stack

Function = Callable[..., Any]


def mapped(fun: Function) -> Function:
    """`vmap` over two copies of each argument, of which the first result is taken."""
    return lambda *args: tree_map(lambda x: x[0], vmap(fun)(*tree_map(lambda x: stack([x, x]), args)))


def pushed(fun: Function) -> Function:
    """`jvp` along ones: the tangents of those results that are floats."""
    return lambda *args: _floats(jvp(fun, args, tree_map(tangent_of_ones, args))[1])


def linearized(fun: Function) -> Function:
    """`linearize`, applied to ones: the same tangents as `pushed`."""
    return lambda *args: _floats(linearize(fun, *args)[1](*tree_map(tangent_of_ones, args)))


def pulled(fun: Function) -> Function:
    """`vjp` of ones: the cotangents of those arguments that are floats."""
    def pull(*args: Any) -> list[Any]:
        out, pullback = vjp(fun, *args)
        return _floats(pullback(tree_map(tangent_of_ones, out)))
    return pull


KINDS: dict[str, Callable[[Function], Function]] = {
    "jitted": jit, "checkpointed": checkpoint, "mapped": mapped, "pushed": pushed, "linearized": linearized,
    "pulled": pulled,
}
"""The transformations, by the names that `Transformation` takes."""


class Transformation:
    """Some of `KINDS`, applied one after the other."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __call__(self, fun: Function) -> Function:
        for name in self.names:
            fun = KINDS[name](fun)
        return fun

    def __repr__(self) -> str:
        return f"Transformation({', '.join(map(repr, self.names))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transformation) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)


def tangent_of_ones(x: Any) -> Any:
    """Return the tangent of `x` that is one everywhere; of integers the one that there is."""
    aval = aval_of(x)
    return ones(aval.shape, aval.dtype) if is_inexact(aval.dtype) else np.zeros(aval.shape, FLOAT0)


def _floats(tree: Any) -> list[Any]:
    return [x for x in tree_leaves(tree) if is_inexact(x.dtype)]
