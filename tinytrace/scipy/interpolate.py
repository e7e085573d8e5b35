"""`jax.scipy.interpolate`: values between the points of a regular grid."""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import tinytrace.numpy as jnp
from tinytrace import tree_util
from tinytrace.numpy.promotion import ArrayLike, Value, check_arraylike, promote_dtypes_inexact

__all__ = ["RegularGridInterpolator"]


class RegularGridInterpolator:
    """A function of points, from its `values` on a regular grid: of as many arrays as there are in `points`.

    Args:
      points: along each axis the coordinates, in ascending order, of any spacing.
      values: an array whose first axes are those of the grid.
      method: "linear" between the neighbours of a point, or the value of the "nearest".
      fill_value: the result outside of the grid; None continues what is inside.

    Raises: ValueError for another method, for more axes than `values` has, and for a fill value of a wider type;
      NotImplementedError for `bounds_error`.

    >>> grid = jnp.array([1.0, 2.0, 4.0])
    >>> jax.scipy.interpolate.RegularGridInterpolator((grid,), 10 * grid)(jnp.array([1.5, 3.0, 5.0]))
    Array([15., 30., nan], dtype=float32)

    See https://docs.scipy.org/doc/scipy/reference/generated/scipy.interpolate.RegularGridInterpolator.html.
    """

    def __init__(self, points: Sequence[ArrayLike], values: ArrayLike, method: str = "linear",
                 bounds_error: bool = False, fill_value: Any = jnp.nan) -> None:
        _check_method(method)
        self.method, self.bounds_error = method, bounds_error
        if bounds_error:
            raise NotImplementedError("`bounds_error` takes no effect under JIT")
        check_arraylike("RegularGridInterpolator", values)
        ndim = jnp.ndim(values)
        if len(points) > ndim:
            raise ValueError(f"there are {len(points)} point arrays, but values has {ndim} dimensions")
        values, = promote_dtypes_inexact(values)
        if fill_value is not None:
            check_arraylike("RegularGridInterpolator", fill_value)
            fill_value = jnp.asarray(fill_value)
            if not jnp.can_cast(fill_value.dtype, values.dtype, casting="same_kind"):
                raise ValueError("fill_value must be either 'None' or of a type compatible with values")
        self.fill_value = fill_value
        check_arraylike("RegularGridInterpolator", *points)
        self.grid = tuple(map(jnp.asarray, points))
        self.values = values

    def __call__(self, xi: Any, method: str | None = None) -> Value:
        """Return the values at points, whose coordinates are the last axis of `xi`, or a tuple of arrays.

        Raises: ValueError for another number of coordinates than the grid has.
        """
        method = self.method if method is None else method
        _check_method(method)
        ndim = len(self.grid)
        xi = _points(xi, ndim)
        if xi.shape[-1] != ndim:
            raise ValueError(f"the requested sample points xi have dimension {xi.shape[1]}, but this "
                             f"RegularGridInterpolator has dimension {ndim}")
        shape = xi.shape
        cells, places, outside = self._cells(xi.reshape(-1, shape[-1]).T)
        found = self._linear(cells, places) if method == "linear" else self._nearest(cells, places)
        if not self.bounds_error and self.fill_value is not None:
            found = jnp.where(outside.reshape(found.shape[:1] + (1,) * (found.ndim - 1)), self.fill_value, found)
        return found.reshape(shape[:-1] + self.values.shape[ndim:])

    def _cells(self, xi: Value) -> tuple[list[Value], list[Value], Value]:
        """Return along each axis the cell of each point and the place inside it, from 0 to 1; and which are outside."""
        cells, places = [], []
        outside = jnp.zeros((xi.shape[1],), dtype=bool)
        for x, grid in zip(xi, self.grid, strict=False):
            i = jnp.searchsorted(grid, x) - 1
            i = jnp.where(i < 0, 0, i)
            i = jnp.where(i > grid.size - 2, grid.size - 2, i)
            cells.append(i)
            places.append((x - grid[i]) / (grid[i + 1] - grid[i]))
            outside += x < grid[0]
            outside += x > grid[-1]
        return cells, places, outside

    def _linear(self, cells: list[Value], places: list[Value]) -> Value:
        """Return the mean of the corners of each point's cell, the nearer the more."""
        every = (slice(None), *[None] * (self.values.ndim - len(cells)))
        total = jnp.asarray(0.0)
        for corner in itertools.product(*[[i, i + 1] for i in cells]):
            weight = jnp.asarray(1.0)
            for at, i, place in zip(corner, cells, places, strict=True):
                weight *= jnp.where(at == i, 1 - place, place)
            total += self.values[corner] * weight[every]
        return total

    def _nearest(self, cells: list[Value], places: list[Value]) -> Value:
        return self.values[tuple(jnp.where(place <= .5, i, i + 1) for i, place in zip(cells, places, strict=True))]


def _check_method(method: str) -> None:
    if method not in ("linear", "nearest"):
        raise ValueError(f"method {method!r} is not defined")


def _points(points: Any, ndim: int) -> Value:
    """Return points as an array whose last axis are their coordinates."""
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        arrays = jnp.broadcast_arrays(*points)
        out = jnp.empty((*arrays[0].shape, len(points)), dtype=float)
        for j, item in enumerate(arrays):
            out = out.at[..., j].set(item)
        return out
    check_arraylike("_ndim_coords_from_arrays", points)
    points = jnp.asarray(points)
    return points.reshape(-1, ndim) if points.ndim == 1 else points


tree_util.register_pytree_node(
    RegularGridInterpolator,
    lambda x: ((x.grid, x.values, x.fill_value), (x.method, x.bounds_error)),
    lambda aux, children: RegularGridInterpolator(*children[:2], *aux, *children[2:]))
