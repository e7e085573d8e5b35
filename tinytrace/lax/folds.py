"""`reduce`: fold dimensions away with any associative function."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.vmapping import vmap
from tinytrace.core.dtypes import dtype_of
from tinytrace.core.trees import tree_flatten, tree_unflatten
from tinytrace.primitives.broadcasting import squeeze
from tinytrace.primitives.checks import remaining
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.creation import full
from tinytrace.primitives.reduction import MONOIDS, reduce_monoid
from tinytrace.primitives.shaping import reshape
from tinytrace.primitives.slicing import slice_in_dim


def reduce(operands: Any, init_values: Any, computation: Callable[[Any, Any], Any], dimensions: Sequence[int]) -> Any:
    """Fold `dimensions` away with `computation` from `init_values`, its identity; both may be trees of arrays.

    lax.add, mul, max, min, bitwise_and, bitwise_or and bitwise_xor are reductions of their own; any other function
    of scalars must be associative, and is applied to halves of the array until one element is left.
    Raises: ValueError when operands and initial values are different trees.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.reduce.html.

    >>> reduce(np.float32([1, 2, 3]), np.float32(1), lambda x, y: x * y, (0,))
    Array(6., dtype=float32)
    """
    flat, tree = tree_flatten(operands)
    inits, init_tree = tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}")
    if len(flat) == 1 and computation in MONOIDS:
        return tree_unflatten(tree, [reduce_monoid(flat[0], inits[0], computation, dimensions)])
    kept = remaining(np.ndim(flat[0]), dimensions)
    shape = tuple(np.shape(flat[0])[axis] for axis in kept)
    rows = [reshape(x, (math.prod(np.shape(x)[axis] for axis in dimensions), *shape), (*dimensions, *kept))
            for x in flat]
    rows = [concatenate([full((1, *shape), init, dtype_of(x)), x], 0) for init, x in zip(inits, rows, strict=True)]

    def combined(x: Any, y: Any) -> Any:
        return tree_flatten(computation(tree_unflatten(tree, x), tree_unflatten(tree, y)))[0]

    for _ in range(1 + len(shape)):
        combined = vmap(combined)
    while (size := np.shape(rows[0])[0]) > 1:
        half = size // 2
        folded = combined([slice_in_dim(x, 0, 2 * half, 2) for x in rows], [slice_in_dim(x, 1, None, 2) for x in rows])
        odd = [slice_in_dim(x, 2 * half, None) for x in rows]
        rows = [concatenate([x, rest], 0) for x, rest in zip(folded, odd, strict=True)] if size % 2 else folded
    return tree_unflatten(tree, [squeeze(x, (0,)) for x in rows])
