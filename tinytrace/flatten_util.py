"""A pytree of arrays as one vector, and back (`jax.flatten_util`)."""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.core.dtypes import dtype_of, result_type
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_unflatten


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Flatten a pytree of arrays to one array of one dimension, of the dtype that all leaves promote to.

    Returns: the vector, and a function from such vectors to trees like `pytree`, each leaf in its own dtype. If all
    leaves have one dtype, that function takes vectors of any.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.flatten_util.ravel_pytree.html.

    >>> import tinytrace.numpy as jnp
    >>> flat, unravel = ravel_pytree({"a": jnp.ones(2), "b": 3.0})
    >>> flat
    Array([1., 1., 3.], dtype=float32)
    >>> unravel(flat * 2)
    {'a': Array([2., 2.], dtype=float32), 'b': Array(6., dtype=float32)}
    """
    leaves, tree = tree_flatten(pytree)
    if not leaves:
        return jnp.array([], jnp.float32), _Unravel(_unravel_empty, tree)
    dtypes = [dtype_of(leaf) for leaf in leaves]
    common = result_type(*dtypes)
    ends = tuple(itertools.accumulate(int(np.size(leaf)) for leaf in leaves))
    shapes = tuple(map(np.shape, leaves))
    if all(dtype == common for dtype in dtypes):
        flat = jnp.concatenate([jnp.ravel(leaf) for leaf in leaves])
        return flat, _Unravel(_unravel, tree, ends, shapes)
    flat = jnp.concatenate([jnp.ravel(lax.convert_element_type(leaf, common)) for leaf in leaves])
    return flat, _Unravel(_unravel_dtypes, tree, ends, shapes, tuple(dtypes), common)


class _Unravel(functools.partial):  # type: ignore[type-arg]
    """A partial that is equal to another of the same parts, so that jitted functions taking it as static hit."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unravel) and (self.func, self.args) == (other.func, other.args)

    def __hash__(self) -> int:
        return hash((self.func, self.args))


def _unravel_empty(tree: PyTreeDef, flat: Any) -> Any:
    return tree_unflatten(tree, [])


def _unravel(tree: PyTreeDef, ends: Sequence[int], shapes: Sequence[tuple[int, ...]], flat: Any) -> Any:
    chunks = jnp.split(flat, np.array(ends[:-1], int))
    return tree_unflatten(tree, [chunk.reshape(shape) for chunk, shape in zip(chunks, shapes, strict=True)])


def _unravel_dtypes(tree: PyTreeDef, ends: Sequence[int], shapes: Sequence[tuple[int, ...]],
                    dtypes: Sequence[np.dtype[Any]], common: np.dtype[Any], flat: Any) -> Any:
    if dtype_of(flat) != common:
        raise TypeError(f"unravel function given array of dtype {dtype_of(flat)}, but expected dtype {common}")
    chunks = jnp.split(flat, np.array(ends[:-1], int))
    return tree_unflatten(tree, [lax.convert_element_type(chunk.reshape(shape), dtype)
                                 for chunk, shape, dtype in zip(chunks, shapes, dtypes, strict=True)])
