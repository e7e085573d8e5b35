"""Pytrees of arrays as vectors, and functions or matrices as linear operators on them."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace.core.trees import tree_leaves, tree_map

Function = Callable[[Any], Any]


def identity(x: Any) -> Any:
    """Return x."""
    return x


def operator(matrix: Any) -> Function:
    """Return what a matrix, a function or None, the identity, does to a vector.

    Raises: ValueError when the matrix is not square.
    """
    if matrix is None:
        return identity
    if callable(matrix):
        return matrix  # type: ignore[no-any-return]
    if np.ndim(matrix) != 2 or np.shape(matrix)[0] != np.shape(matrix)[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {np.shape(matrix)}")
    return partial(jnp.dot, matrix)


def dot(x: Any, y: Any) -> Any:
    """Return the inner product of two vectors, x conjugated."""
    return sum(jnp.vdot(a, b) for a, b in zip(tree_leaves(x), tree_leaves(y), strict=True))


def norm(x: Any) -> Any:
    """Return the length of a vector."""
    return jnp.sqrt(dot(x, x).real)


def plus(x: Any, factor: Any, y: Any) -> Any:
    """Return x + factor * y."""
    return tree_map(lambda a, b: a + factor * b, x, y)
