"""Grids and concatenations by indexing: mgrid, ogrid, r_, c_, s_."""
from __future__ import annotations

from typing import Any

import numpy as np

from tinytrace.config import numpy_dtype_promotion
from tinytrace.numpy.array_creation import array
from tinytrace.numpy.joining import concatenate, stack
from tinytrace.numpy.promotion import Value, concrete, promote_dtypes
from tinytrace.numpy.ranges import arange, linspace, meshgrid
from tinytrace.numpy.shapes import expand_dims, transpose

s_, index_exp = np.s_, np.index_exp


def _range(s: slice, name: str) -> Value:
    """Return the range that a slice means; with an imaginary step `4j`, so many numbers with both ends."""
    start = concrete(s.start, f"slice start of jnp.{name}") or 0
    stop = concrete(s.stop, f"slice stop of jnp.{name}")
    step = concrete(s.step, f"slice step of jnp.{name}") or 1
    return linspace(start, stop, int(abs(step))) if isinstance(step, complex) else arange(start, stop, step)


class _Grid:
    """`mgrid[0:2, 0:3]` is i32[2, 2, 3]: the coordinates of a grid; `ogrid` gives them sparse, as a list."""

    def __init__(self, name: str, sparse: bool) -> None:
        self.name, self.sparse = name, sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _range(key, self.name)
        if not key:
            return [] if self.sparse else arange(0)
        with numpy_dtype_promotion("standard"):  # the types of the ranges are not the user's choice
            ranges = promote_dtypes(*[_range(s, self.name) for s in key])
        grids = meshgrid(*ranges, indexing="ij", sparse=self.sparse)
        return grids if self.sparse else stack(grids, 0)


class _Concatenator:
    """`r_[1:3, 0]` joins along the first axis, `c_[x, y]` stacks columns; see NumPy for the strings they take."""

    def __init__(self, name: str, axis: int, ndmin: int, trans1d: int) -> None:
        self.name, self.options = name, (axis, ndmin, trans1d, -1)

    def __getitem__(self, key: Any) -> Value:
        items = key if isinstance(key, tuple) else (key,)
        axis, ndmin, trans1d, matrix = self.options
        if isinstance(items[0], str):
            (axis, ndmin, trans1d, matrix), items = self._directive(items[0]), items[1:]
        result = concatenate([self._part(item, ndmin, trans1d) for item in items], axis=axis)
        return expand_dims(result, matrix) if matrix != -1 and result.ndim == 1 else result

    def _directive(self, text: str) -> tuple[int, ...]:
        if text in ("r", "c"):
            return (*self.options[:3], 0 if text == "r" else 1)
        parts = text.split(",")[:3]
        try:
            return (*map(int, parts), *self.options[len(parts):])
        except ValueError as error:
            raise ValueError(f"could not understand directive {text!r}") from error

    def _part(self, item: Any, ndmin: int, trans1d: int) -> Value:
        if isinstance(item, str):
            raise ValueError("string directive must be placed at the beginning")
        part = _range(item, self.name) if isinstance(item, slice) else array(item, copy=False)
        ndim = 0 if isinstance(item, slice) else part.ndim
        part = array(part, copy=False, ndmin=ndmin)
        if trans1d != -1 and ndmin - ndim > 0:
            shift = ndmin - abs(ndmin + trans1d + 1) % ndmin
            axes = tuple(range(ndmin))
            part = transpose(part, axes[shift:] + axes[:shift])
        return part

    def __len__(self) -> int:
        return 0


mgrid = _Grid("mgrid", sparse=False)
ogrid = _Grid("ogrid", sparse=True)
r_ = _Concatenator("r_", axis=0, ndmin=1, trans1d=-1)
c_ = _Concatenator("c_", axis=-1, ndmin=2, trans1d=0)
