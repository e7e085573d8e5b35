"""Joining arrays along a dimension; the transpose cuts the pieces out again."""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.kinds import Expr, Index, IndexMap, Kind, where
from tinytrace.core.primitive import Primitive
from tinytrace.core.tangents import is_undefined_primal
from tinytrace.primitives.broadcasting import batch_dim_at_front
from tinytrace.primitives.checks import check_same_dtypes, inserted, is_array, without
from tinytrace.primitives.duals import instantiate
from tinytrace.primitives.shaping import NDArray
from tinytrace.primitives.slicing import slice


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Join `operands`, equal in all other dimensions, along `dimension`.

    Raises: ValueError when there are none, TypeError when shapes or dtypes disagree.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.concatenate.html.

    >>> concatenate([np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int32)], 0)
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    if len(operands) == 0:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1 and is_array(operands[0]):
        return operands[0]
    return concatenate_p.bind(*operands, dimension=dimension)


class Concatenate(Primitive):
    """`concatenate[dimension=0] x: f32[n] y: f32[m]` is f32[n+m]."""

    name = "concatenate"

    def abstract_eval(self, *avals: ShapedArray, dimension: int) -> ShapedArray:
        shapes = ", ".join(str(aval.shape) for aval in avals)
        first = avals[0]
        if len({aval.ndim for aval in avals}) != 1:
            raise TypeError(f"Cannot concatenate arrays with different numbers of dimensions: got {shapes}.")
        if not 0 <= dimension < first.ndim:
            raise TypeError(f"concatenate dimension out of bounds: dimension {dimension} for shapes {shapes}.")
        others = without(first.shape, (dimension,))
        if any(without(aval.shape, (dimension,)) != others for aval in avals):
            raise TypeError("Cannot concatenate arrays with shapes that differ in dimensions other than the one being "
                            f"concatenated: concatenating along dimension {dimension} for shapes {shapes}.")
        check_same_dtypes("concatenate", *avals)
        size = sum(aval.shape[dimension] for aval in avals)
        return ShapedArray(inserted(others, dimension, size), first.dtype, all(aval.weak_type for aval in avals))

    def impl(self, *args: NDArray, dimension: int) -> NDArray:
        return np.concatenate(args, dimension)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int) -> tuple[Any, Any]:
        return concatenate_p.bind(*primals, dimension=dimension), \
            concatenate_p.bind(*map(instantiate, tangents), dimension=dimension)

    def transpose(self, ct: Any, *args: Any, dimension: int) -> Sequence[Any]:
        ends = itertools.accumulate(aval_of(x).shape[dimension] for x in args)
        cts, start, shape = [], 0, np.shape(ct)
        for x, end in zip(args, ends, strict=True):
            starts, limits = [0] * len(shape), list(shape)
            starts[dimension], limits[dimension] = start, end
            cts.append(slice(ct, starts, limits) if is_undefined_primal(x) else None)
            start = end
        return cts

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, dimension: int) -> tuple[Any, Any]:
        size = next(np.shape(x)[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
        return concatenate([batch_dim_at_front(x, dim, size) for x, dim in zip(args, dims, strict=True)],
                           dimension + 1), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, dimension: int) -> Kind:
        starts = [0, *itertools.accumulate(aval.shape[dimension] for aval in in_avals)]

        def element(i: Index, read: Any) -> Expr:
            def among(first: int, last: int) -> Expr:
                """Read from the one of operands first..last that `i` falls into, found by halving."""
                if first == last:
                    return read(first, inserted(without(i, (dimension,)), dimension,  # type: ignore[no-any-return]
                                                i[dimension] - starts[first]))
                middle = (first + last + 1) // 2
                is_before = i[dimension] < starts[middle]
                if is_before.op == "const":  # nothing is asked for that is not read
                    return among(first, middle - 1) if is_before.args[0] else among(middle, last)
                return where(is_before, among(first, middle - 1), among(middle, last))

            return among(0, len(in_avals) - 1)

        return IndexMap(element)


concatenate_p = Concatenate()
