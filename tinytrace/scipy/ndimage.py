"""`jax.scipy.ndimage`: an array interpolated between its elements."""
from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace import lax
from tinytrace import numpy as jnp
from tinytrace.api.jit import jit
from tinytrace.core.dtypes import is_integer
from tinytrace.numpy.promotion import ArrayLike, Value
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)


def map_coordinates(input: ArrayLike, coordinates: Sequence[ArrayLike], order: int, mode: str = "constant",
                    cval: ArrayLike = 0.0) -> Value:
    """Return an array's elements at `coordinates`, one array of them for each axis, interpolated between neighbours.

    Args:
      order: 0 takes the nearest element, 1 interpolates linearly.
      mode: what lies outside: "constant" (`cval`), "nearest", "wrap", "mirror" or "reflect".

    Raises: NotImplementedError for another order or mode, ValueError unless there is one array for each axis.
    See https://docs.jax.dev/en/latest/_autosummary/jax.scipy.ndimage.map_coordinates.html.

    >>> x = jnp.arange(12.0).reshape(3, 4)
    >>> jax.scipy.ndimage.map_coordinates(x, [jnp.array([0.5, 1.5]), jnp.array([1.5, 2.5])], order=1)
    Array([3.5, 8.5], dtype=float32)
    """
    found: Value = _map_coordinates(input, coordinates, order, mode, cval)
    return found


@functools.partial(jit, static_argnums=(2, 3, 4))
def _map_coordinates(input: Any, coordinates: Any, order: int, mode: str, cval: Any) -> Value:
    x = jnp.asarray(input)
    places = [jnp.asarray(c) for c in coordinates]
    outside = jnp.asarray(cval, x.dtype)
    if len(coordinates) != x.ndim:
        raise ValueError("coordinates must be a sequence of length input.ndim, but "
                         f"{len(coordinates)} != {x.ndim}")
    if mode not in _FOLDS:
        raise NotImplementedError(f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently "
                                  f"supported modes are {set(_FOLDS)}.")
    if order not in _NEIGHBOURS:
        raise NotImplementedError("jax.scipy.ndimage.map_coordinates currently requires order<=1")
    along = [[(_FOLDS[mode](index, size), (index >= 0) & (index < size) if mode == "constant" else True, weight)
              for index, weight in _NEIGHBOURS[order](place)] for place, size in zip(places, x.shape, strict=False)]
    parts = []
    for neighbours in itertools.product(*along):
        indices, inside, weights = zip(*neighbours, strict=True) if neighbours else ((), (), ())
        values = x[indices]
        if not all(one is True for one in inside):
            values = jnp.where(functools.reduce(operator.and_, inside), values, outside)
        parts.append(functools.reduce(operator.mul, weights) * values)
    result = functools.reduce(operator.add, parts)
    return (_rounded(result) if is_integer(x.dtype) else result).astype(x.dtype)


def _rounded(x: Value) -> Value:
    return x if is_integer(x.dtype) else lax.round(x)


def _nearest(place: Value) -> list[tuple[Value, Any]]:
    return [(_rounded(place).astype(jnp.int32), place.dtype.type(1))]


def _two(place: Value) -> list[tuple[Value, Any]]:
    lower = jnp.floor(place)
    above = place - lower
    below = 1 - above
    index = lower.astype(jnp.int32)
    return [(index, below), (index + 1, above)]


_NEIGHBOURS: dict[int, Callable[[Value], list[tuple[Value, Any]]]] = {0: _nearest, 1: _two}
"""By order: the elements around each place, and their weights."""


def _mirrored(index: Value, size: int) -> Value:
    last = size - 1
    return jnp.abs((index + last) % (2 * last) - last)


def _reflected(index: Value, size: int) -> Value:
    return jnp.floor_divide(_mirrored(2 * index + 1, 2 * size + 1) - 1, 2)


_FOLDS: dict[str, Callable[[Value, int], Value]] = {
    "constant": lambda index, size: index, "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size, "mirror": _mirrored, "reflect": _reflected,
}
"""By mode: which element of the array an index outside stands for."""

__all__ = ["map_coordinates"]
