"""Pytrees of arrays as vectors, and functions or matrices as linear operators on them."""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import matmul
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace.core.array import Array
from tinytrace.core.trace import Tracer
from tinytrace.core.trees import tree_leaves, tree_map
from tinytrace.numpy.promotion import convert

Function = Callable[[Any], Any]


def identity(x: Any) -> Any:
    """Return x."""
    return x


def operator(matrix: Any) -> Function:
    """Return what a matrix, an object with `@`, a function or None, the identity, does to a vector.

    Raises: ValueError when the matrix is not square; TypeError for anything else.
    """
    if matrix is None:
        return identity
    if callable(matrix):
        return matrix  # type: ignore[no-any-return]
    is_array = isinstance(matrix, (np.ndarray, Array, Tracer))
    if not is_array and not hasattr(matrix, "__matmul__"):
        raise TypeError(f"linear operator must be either a function or ndarray: {matrix}")
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {shape}")
    return partial(jnp.dot if is_array else matmul, matrix)


def dot(x: Any, y: Any) -> Any:
    """Return the inner product of two vectors, x conjugated."""
    return sum(jnp.vdot(a, b) for a, b in zip(tree_leaves(x), tree_leaves(y), strict=True))


def real_dot(x: Any, y: Any) -> Any:
    """Return the real part of the inner product of two vectors."""
    return dot(x, y).real


def typed_like(x: Any, like: Any) -> Any:
    """Return a vector with the dtypes and weak types of another: a weak right hand side has a weak solution."""
    return tree_map(lambda a, b: convert(a, b.dtype, b.weak_type), x, like)


def norm(x: Any) -> Any:
    """Return the length of a vector."""
    return jnp.sqrt(dot(x, x).real)


def plus(x: Any, factor: Any, y: Any) -> Any:
    """Return x + factor * y."""
    return tree_map(lambda a, b: a + factor * b, x, y)
