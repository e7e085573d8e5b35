"""Step 1 of 12: arrays with a type, and containers of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# --- types -------------------------------------------------------------------------------------------------------

BOOL, INT, FLOAT = np.dtype("bool"), np.dtype("int32"), np.dtype("float32")
SHORT = {BOOL: "bool", INT: "i32", FLOAT: "f32"}


class ShapedArray(NamedTuple):
    """A type, JAX's *aval*: shape and dtype; `weak_type` if it comes of Python numbers alone and yields to others."""

    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{SHORT[self.dtype]}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.dtype}[{','.join(map(str, self.shape))}]{weak})"


def aval_of(x: Any) -> ShapedArray:
    """The type of any value: of ours, of Python's numbers (which are weak), of NumPy's arrays."""
    if hasattr(x, "aval"):
        return x.aval
    value = np.asarray(x)
    dtype = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT}.get(value.dtype.kind)
    if dtype is None:
        raise TypeError(f"a value of type {type(x).__name__} is not a valid JAX type: {x!r}")
    return ShapedArray(value.shape, dtype, type(x) in (int, float))


def to_numpy(x: Any) -> np.ndarray:
    """A value as NumPy has it, in one of our three dtypes."""
    return x.value if isinstance(x, Array) else np.asarray(x, aval_of(x).dtype)


# --- arrays ------------------------------------------------------------------------------------------------------


class Typed:
    """What arrays, and all that stands for arrays, can say of themselves."""

    aval: ShapedArray
    __array_priority__ = 1000  # so that NumPy's arrays leave `ndarray + ours` to us
    __hash__ = None

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)

    def __len__(self) -> int:
        return self.shape[0]


class Array(Typed):
    """Numbers that are there, and that nobody changes."""

    def __init__(self, value: Any, weak_type: bool = False) -> None:
        self.value = np.array(value)
        self.value.setflags(write=False)
        self.aval = ShapedArray(self.value.shape, self.value.dtype, weak_type)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.value, dtype)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.aval.weak_type else ""
        return f"Array({np.array2string(self.value, separator=', ', prefix='Array(')}, dtype={self.dtype}{weak})"

    def __str__(self) -> str:
        return str(self.value)

def array(x: Any) -> Array:
    """An array of numbers, or of nested lists of them."""
    return Array(to_numpy(np.asarray(x)))


def arange(*limits: float) -> Array:
    """`arange(stop)` or `arange(start, stop)`: integers if all limits are."""
    return array(np.arange(*limits))


# --- trees -------------------------------------------------------------------------------------------------------


class PyTreeDef(NamedTuple):
    """The structure of a nested container: its type, what it knows besides its children, and those. A leaf has none."""

    node: type | None
    static: Any = None
    children: tuple[PyTreeDef, ...] = ()


LEAF = PyTreeDef(None)
_flatten: dict[type, Callable] = {
    list: lambda xs: (xs, None),
    tuple: lambda xs: (xs, None),
    dict: lambda d: ([d[key] for key in sorted(d)], tuple(sorted(d))),
    type(None): lambda none: ((), None),
}
_unflatten: dict[type, Callable] = {
    list: lambda _, xs: list(xs),
    tuple: lambda _, xs: tuple(xs),
    dict: lambda keys, xs: dict(zip(keys, xs, strict=True)),
    type(None): lambda _, xs: None,
}


def register_pytree_node(node: type, flatten: Callable, unflatten: Callable) -> None:
    """Makes a class a container: `flatten(x)` is its children and the rest, `unflatten(rest, children)` is x."""
    _flatten[node], _unflatten[node] = flatten, unflatten


def tree_flatten(tree: Any) -> tuple[list, PyTreeDef]:
    """The leaves of a container, from left to right, and its structure."""
    if type(tree) not in _flatten:
        return [tree], LEAF
    children, static = _flatten[type(tree)](tree)
    parts = [tree_flatten(child) for child in children]
    structures = tuple(structure for _, structure in parts)
    return [leaf for leaves, _ in parts for leaf in leaves], PyTreeDef(type(tree), static, structures)


def tree_unflatten(treedef: PyTreeDef, leaves: Any) -> Any:
    """The container with this structure and these leaves."""
    leaves = iter(leaves)

    def build(treedef: PyTreeDef) -> Any:
        if treedef == LEAF:
            return next(leaves)
        children = [build(child) for child in treedef.children]
        return _unflatten[treedef.node](treedef.static, children)

    return build(treedef)
