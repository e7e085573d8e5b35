"""Reductions besides the sum: product, maximum, minimum, and, or, xor; and which of them a binary function means."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import dtype_of, is_discrete, is_weak
from tinytrace.core.monoids import identity
from tinytrace.core.primitive import ALL, NONE, refuse
from tinytrace.primitives.arithmetic import add, div, max, min, mul, mul_p
from tinytrace.primitives.bitwise import bitwise_and, bitwise_or, bitwise_xor
from tinytrace.primitives.broadcasting import Reducer, broadcast, reduce_sum, reduce_sum_p, squeeze_p
from tinytrace.primitives.checks import remaining, without
from tinytrace.primitives.comparison import eq
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.duals import Dual
from tinytrace.primitives.elementwise import filled_like
from tinytrace.primitives.shaping import NDArray, reshape
from tinytrace.primitives.slicing import pad_p, slice_p, window_in_dim


def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """Multiply over `axes`; the empty product is 1."""
    return reduce_prod_p.bind(operand, axes=tuple(axes))


def reduce_max(operand: Any, axes: Sequence[int]) -> Any:
    """Take the largest element over `axes`; NaN wins, and of nothing it is the smallest value there is."""
    return reduce_max_p.bind(operand, axes=tuple(axes))


def reduce_min(operand: Any, axes: Sequence[int]) -> Any:
    """Take the smallest element over `axes`; NaN wins, and of nothing it is the largest value there is."""
    return reduce_min_p.bind(operand, axes=tuple(axes))


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Combine by bitwise (for bools, logical) and over `axes`; of nothing it is all ones."""
    return reduce_and_p.bind(operand, axes=tuple(axes))


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Combine by bitwise (for bools, logical) or over `axes`; of nothing it is 0."""
    return reduce_or_p.bind(operand, axes=tuple(axes))


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Combine by bitwise (for bools, logical) exclusive or over `axes`; of nothing it is 0."""
    return reduce_xor_p.bind(operand, axes=tuple(axes))


def reduce_monoid(operand: Any, init_value: Any, computation: Callable[[Any, Any], Any],
                  dimensions: Sequence[int]) -> Any:
    """Fold `dimensions` away with `computation`, one of `MONOIDS`, from `init_value`: a scalar."""
    return folded(MONOIDS[computation], computation, operand, init_value, "reduce", axes=tuple(dimensions))


def is_identity(reducer: Any, init_value: Any) -> bool:
    """Is `init_value` a number that changes nothing for `reducer`?"""
    if np.ndim(init_value) or not isinstance(init_value, (bool, int, float, complex, np.generic, np.ndarray, Array)):
        return False
    return bool(np.asarray(init_value) == identity(reducer.combine, dtype_of(init_value)))


def folded(reducer: Any, computation: Callable[[Any, Any], Any], operand: Any, init_value: Any, name: str,
           **params: Any) -> Any:
    """Bind `reducer`, which combines like `computation`; an initial value other than its identity is combined last."""
    if np.ndim(init_value):
        raise ValueError(f"{name} found non-scalar initial value: {[np.shape(init_value)]}")
    dtype, init_dtype = dtype_of(operand), dtype_of(init_value)
    if is_identity(reducer, init_value):
        out = reducer.bind(operand, **params)
        return convert_element_type(out, weak_type=is_weak(operand) and is_weak(init_value))
    if dtype != init_dtype:
        raise TypeError(f"{name} operand dtypes should match corresponding initial value dtypes, got operands="
                        f"{[aval_of(operand)]} and initial_values={[aval_of(init_value)]}")
    out = reducer.bind(operand, **params)
    return computation(out, broadcast(convert_element_type(init_value, dtype), np.shape(out)))


# --- rooms -----------------------------------------------------------------------------------------------------

class ReduceProd(Reducer):
    """`reduce_prod[axes=(0,)] x: f32[n]` is f32[]; differentiated as a tree of products, which needs no division."""

    name = "reduce_prod"
    combine = "prod"
    ufunc = np.multiply

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple[int, ...]) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        shape, kept = np.shape(x), remaining(np.ndim(x), axes)
        rows = (int(np.prod([shape[axis] for axis in axes], dtype=int)), *(shape[axis] for axis in kept))
        order = (*axes, *kept)
        one = dtype_of(x).type(1)
        product = Dual(reshape(x, rows, order), reshape(t, rows, order))
        if rows[0] == 0:
            empty = product.primal.aval.update(shape=rows[1:])
            return filled_like(empty, 1), filled_like(empty, 0)
        while (size := np.shape(product.primal)[0]) > 1:
            half = (size + 1) // 2
            low, high = (Dual.apply(slice_p, product, **window_in_dim(product.primal, first, last))
                         for first, last in ((0, half), (half, size)))
            if size - half < half:
                high = Dual.apply(pad_p, high, one, padding_config=((0, 1, 0), *[(0, 0, 0)] * len(kept)))
            product = Dual.apply(mul_p, low, high)
        return Dual.apply(squeeze_p, product, dimensions=(0,))

    transpose = refuse("a product is not linear")


class Chooser(Reducer):
    """Reductions that pick an element: the tangent is the mean of the tangents of the elements that were picked."""

    def check_dtype(self, x: ShapedArray) -> None:
        """Any type that is ordered will do."""

    def reads_of(self, operands: Sequence[Any]) -> slice:
        """Of no elements it is the least number of the very type."""
        return ALL if operands[0].size else NONE

    def impl(self, x: NDArray, *, axes: tuple[int, ...]) -> NDArray:
        if not x.size:
            return np.full(without(x.shape, axes), identity(self.combine, x.dtype))
        return super().impl(x, axes=axes)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple[int, ...]) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        out = self.bind(x, axes=axes)
        shape = [1 if axis in axes else size for axis, size in enumerate(np.shape(x))]
        picked = convert_element_type(eq(x, reshape(out, shape)), dtype_of(t))
        count = reduce_sum(picked, axes)
        return out, div(reduce_sum(mul(t, picked), axes), count)

    transpose = refuse("picking an element is not linear")


class ReduceMax(Chooser):
    """`reduce_max[axes=(0,)] x: f32[n]` is f32[]."""

    name = "reduce_max"
    combine = "max"
    ufunc = np.maximum


class ReduceMin(Chooser):
    """`reduce_min[axes=(0,)] x: f32[n]` is f32[]."""

    name = "reduce_min"
    combine = "min"
    ufunc = np.minimum


class BitReducer(Reducer):
    """Reductions of the bits of integers, or of bools."""

    def __init__(self, combine: str, ufunc: np.ufunc) -> None:
        self.combine, self.ufunc = combine, ufunc
        super().__init__(f"reduce_{combine}")

    def abstract_eval(self, x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        return super().abstract_eval(x, axes=axes).strip_weak_type()

    def check_dtype(self, x: ShapedArray) -> None:
        if not is_discrete(x.dtype):
            raise TypeError(f"logical reduction requires operand dtype bool or int, got {x.dtype.name}.")

    jvp = refuse("bits have no tangents")
    transpose = refuse("bits have no cotangents")


reduce_prod_p = ReduceProd()
reduce_max_p = ReduceMax()
reduce_min_p = ReduceMin()
reduce_and_p = BitReducer("and", np.bitwise_and)
reduce_or_p = BitReducer("or", np.bitwise_or)
reduce_xor_p = BitReducer("xor", np.bitwise_xor)

MONOIDS: dict[Any, Reducer] = {
    add: reduce_sum_p, mul: reduce_prod_p, max: reduce_max_p, min: reduce_min_p,
    bitwise_and: reduce_and_p, bitwise_or: reduce_or_p, bitwise_xor: reduce_xor_p,
}
"""The binary functions that `reduce` knows, and what they do to a whole array."""
