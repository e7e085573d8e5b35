"""Pairs of calls of one function: of the same kind, so that the second is a hit, or different in one respect."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tinytrace.core.avals import aval_of
from tinytrace.core.trees import tree_flatten, tree_structure
from tinytrace.numpy import add, asarray, int32
from tinytrace.records import dataclass
from tinytrace.testing.strategies import arrays, elements, pytrees, static_values


def reveal(tree: Any, option: Any = None) -> Any:
    """Return the arrays of `tree` doubled, and a number made of all that a trace may see besides their values.

    A call that is answered by the program of another kind of call gives that call's number.
    """
    leaves, structure = tree_flatten(tree)
    return [add(x, x) for x in leaves if aval_of(x).dtype != bool], int32(signature(structure, leaves, option))


def signature(structure: Any, leaves: Any, option: Any) -> int:
    """Return the number that `reveal` gives for a call of this kind."""
    kinds = [(aval.shape, str(aval.dtype), aval.weak_type) for aval in map(aval_of, leaves)]
    return zlib.crc32(repr((structure, kinds, type(option).__name__, option)).encode()) & 0x7FFFFFFF


@dataclass(frozen=True)
class CallPair:
    """Two calls `f(tree, option)`, `option` being static.

    Args:
      change: in what they differ: "nothing", "values", "dtype", "shape", "weak type", "tree", "option".
    """

    first: tuple[Any, Any]
    second: tuple[Any, Any]
    change: str

    @property
    def is_hit(self) -> bool:
        """Must the program of the first call answer the second?"""
        return self.change in ("nothing", "values")


_CHANGES = ("nothing", "values", "dtype", "shape", "weak type", "tree", "option")


@st.composite
def call_pairs(draw: st.DrawFn) -> CallPair:
    """Pairs of calls of one function: the second is a hit (the same, or other values) or differs in one respect."""
    change = draw(st.sampled_from(_CHANGES))
    option = draw(static_values())
    x = draw(arrays("float32", (2,), bound=4.0))
    tree: Any = {"x": x, "rest": draw(pytrees(max_leaves=2))}
    other, other_option = dict(tree), option
    if change == "values":
        other["x"] = draw(arrays("float32", (2,), bound=4.0))
    elif change == "dtype":
        other["x"] = asarray(np.asarray(x).astype(draw(st.sampled_from(["int32", "float16", "int8"]))))
    elif change == "shape":
        other["x"] = asarray(np.resize(np.asarray(x), draw(st.sampled_from([(1,), (1, 2), (3,), ()]))))
    elif change == "weak type":
        tree["x"], other["x"] = draw(elements(np.dtype("float32"), 4.0)).item(), asarray(1.5, "float32")
    elif change == "tree":
        other["rest"] = draw(pytrees(max_leaves=2).filter(lambda t: tree_structure(t) != tree_structure(tree["rest"])))
    elif change == "option":
        other_option = draw(static_values().filter(lambda v: type(v) is not type(option) or v != option))
    return CallPair((tree, option), (other, other_option), change)
