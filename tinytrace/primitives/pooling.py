"""Reductions of sliding windows, of which pooling is made, and the rules by which maxima are differentiated."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import FLOAT0, INT32, KeyType, dtype_of, is_discrete
from tinytrace.core.monoids import identity
from tinytrace.core.primitive import ALL, Primitive, refuse
from tinytrace.core.tangents import Zero
from tinytrace.primitives.argminmax import argmax_p, argmin_p
from tinytrace.primitives.arithmetic import add, max, min
from tinytrace.primitives.broadcasting import batch_dim_at_front, broadcast_in_dim, reduce_sum, reduce_sum_p
from tinytrace.primitives.checks import check_shapelike, inserted
from tinytrace.primitives.comparison import eq, ge_p, le_p
from tinytrace.primitives.composite import Composite
from tinytrace.primitives.creation import broadcasted_iota, full, iota
from tinytrace.primitives.elementwise import zero_like
from tinytrace.primitives.gathering import scatter_add
from tinytrace.primitives.indexing import ScatterDimensionNumbers
from tinytrace.primitives.reduction import folded, reduce_max_p, reduce_min_p
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import reshape
from tinytrace.primitives.slicing import pad, slice
from tinytrace.primitives.windows import Ints, Pads, members, transposed_pads, window_counts, windows


def reduce_window_monoid(operand: Any, init_value: Any, computation: Callable[[Any, Any], Any],
                         params: dict[str, Any]) -> Any:
    """Fold every window of `operand` with `computation`, one of `REDUCERS`, from `init_value`: a scalar."""
    return folded(REDUCERS[computation], computation, operand, init_value, "reduce_window", **params)


FEWER, FEW, MANY = 4, 9, 49
"""Windows of more members than `FEWER`, which are written out anyway, and up to `FEW` are folded member by member; up
to `MANY`, where windows hang over the edges, or do not lie side by side in a row. Sums of 5x5 take 0.1 to 0.6 of the
time so, and 1.4 times as much where all windows are whole and neighbours overlap."""
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"sum": add, "max": max, "min": min}


# --- rooms -----------------------------------------------------------------------------------------------------

class WindowReducer(Composite):
    """`reduce_window_max[...] x: f32[n]` is f32[m]: a reduction of every window."""

    reads = ALL

    def __init__(self, combine: str, reducer: Primitive) -> None:
        self.combine, self.reducer = combine, reducer
        super().__init__(f"reduce_window_{combine}")

    def abstract_eval(self, x: ShapedArray, **params: Any) -> ShapedArray:
        if self.combine == "sum" and (x.dtype.kind == "b" or x.dtype == FLOAT0 or isinstance(x.dtype, KeyType)):
            raise TypeError(f"operand to reduce_window_sum must have a number dtype, got {x.dtype.name}")
        _check_windows(x, **params)
        return x.update(shape=window_counts(x.shape, **params))

    def program(self, x: Any, **params: Any) -> Any:
        counts, size = window_counts(np.shape(x), **params), math.prod(params["window_dimensions"])
        if self.combine == "sum" or size <= FEWER or 0 in counts:
            exact = self.combine == "sum" and (dtype_of(x).itemsize >= 4 or is_discrete(dtype_of(x)))
            most = MANY if _hang_over(params) or _jump(params) else FEW
            return self._fold(x, params, exact and FEWER < size <= most and 0 not in counts)
        for axis, width in enumerate(params["window_dimensions"]):  # the extreme of extremes of rows
            along = _along(params, axis)
            if along != _along(params, np.ndim(x)):
                x = self._fold(x, along, width <= FEW)
        return x

    def _fold(self, x: Any, params: dict[str, Any], by_members: bool) -> Any:
        """Return the fold of all windows, one by one, or member by member of all windows: elements of one loop."""
        ndim, start = np.ndim(x), identity(self.combine, dtype_of(x))
        if by_members:
            return functools.reduce(OPERATIONS[self.combine], members(x, start, **params))
        return self.reducer.bind(windows(x, start, **params), axes=tuple(range(ndim, 2 * ndim)))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        select_prim = ge_p if self.combine == "max" else le_p
        return self.bind(x, **params), select_and_gather_add_p.bind(t, x, select_prim=select_prim, **params)

    transpose = refuse("picking an element is not linear")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        return self.bind(x, **_with_batch(params, dim)), dim


class WindowSum(WindowReducer):
    """`reduce_window_sum[...] x: f32[n]` is f32[m]: linear; its transpose spreads cotangents over their windows."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return self.bind(*primals, **params), self.bind(*tangents, **params)

    def transpose(self, ct: Any, x: Any, *, window_dimensions: Ints, window_strides: Ints, padding: Pads,
                  base_dilation: Ints, window_dilation: Ints) -> Sequence[Any]:
        shape = x.aval.shape
        pads = transposed_pads(shape, window_dimensions, window_strides, np.shape(ct), padding, base_dilation,
                               window_dilation)
        spread = pad(ct, zero_like(ct), [(low, high, stride - 1)
                                         for (low, high), stride in zip(pads, window_strides, strict=True)])
        return [self.bind(spread, window_dimensions=window_dimensions, window_strides=base_dilation,
                          padding=((0, 0),) * len(shape), base_dilation=(1,) * len(shape),
                          window_dilation=window_dilation)]


class SelectAndGatherAdd(Composite):
    """`select_and_gather_add[...] t: f32[n] x: f32[n]` is f32[m]: t where x is largest (smallest) in each window."""

    name = "select_and_gather_add"
    reads = ALL

    def abstract_eval(self, t: ShapedArray, x: ShapedArray, *, select_prim: Primitive, **params: Any) -> ShapedArray:
        if t.shape != x.shape:
            raise TypeError("select_and_gather_add tangents and operand shapes must match, got "
                            f"{t.shape} and {x.shape}.")
        _check_windows(x, **params)
        return t.update(shape=window_counts(x.shape, **params), weak_type=t.weak_type and x.weak_type)

    def program(self, t: Any, x: Any, *, select_prim: Primitive, **params: Any) -> Any:
        picked, counts = _picked(x, select_prim, **params)
        laid_out = reshape(windows(t, zero_like(t), **params), np.shape(picked))
        return reduce_sum(select(picked, laid_out, full(np.shape(picked), 0, dtype_of(t))), (len(counts),))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (t, x), (t_dot, _) = primals, tangents
        out = self.bind(t, x, **params)
        return out, Zero.from_primal_value(out) if type(t_dot) is Zero else self.bind(t_dot, x, **params)

    def transpose(self, ct: Any, t: Any, x: Any, *, select_prim: Primitive, window_dimensions: Ints,
                  window_strides: Ints, padding: Pads, base_dilation: Ints, window_dilation: Ints) -> Sequence[Any]:
        if any(step != 1 for step in window_dilation):
            raise NotImplementedError("VJP not implemented for select_and_gather (MaxPool) with window dilation, got "
                                      f"window_dilation={window_dilation}.")
        spread = any(step != 1 for step in base_dilation)
        if spread:
            x = pad(x, identity(_extreme(select_prim), dtype_of(x)), tuple((0, 0, step - 1) for step in base_dilation))
        out = select_and_scatter_add_p.bind(ct, x, select_prim=select_prim, window_dimensions=window_dimensions,
                                            window_strides=window_strides, padding=padding)
        return [slice(out, (0,) * out.ndim, out.shape, base_dilation) if spread else out, None]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        size = next(np.shape(x)[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
        front = [batch_dim_at_front(x, dim, size) for x, dim in zip(args, dims, strict=True)]
        return self.bind(*front, **_with_batch(params, 0)), 0


class SelectAndScatterAdd(Composite):
    """`select_and_scatter_add[...] s: f32[m] x: f32[n]` is f32[n]: each s added where its window of x is largest."""

    name = "select_and_scatter_add"
    reads = ALL

    def abstract_eval(self, source: ShapedArray, x: ShapedArray, **params: Any) -> ShapedArray:
        return ShapedArray(x.shape, source.dtype, source.weak_type and x.weak_type)

    def program(self, source: Any, x: Any, *, select_prim: Primitive, **params: Any) -> Any:
        shape, ones = np.shape(x), (1,) * np.ndim(x)
        params = {**params, "base_dilation": ones, "window_dilation": ones}
        picked, counts = _picked(x, select_prim, **params)
        size = math.prod(shape)
        places = windows(reshape(iota(INT32, size), shape), np.int32(-1), **params)
        nothing = full(np.shape(picked), 0, INT32)
        place = reduce_sum(select(picked, reshape(places, np.shape(picked)), nothing), (len(counts),))
        rows = tuple(range(len(counts)))
        numbers = ScatterDimensionNumbers((), (0,), (0,))
        place = broadcast_in_dim(place, (*counts, 1), rows)
        flat = scatter_add(full((size,), 0, dtype_of(source)), place, source, numbers)
        return reshape(flat, shape)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (source, x), (source_dot, _) = primals, tangents
        out = self.bind(source, x, **params)
        return out, Zero.from_primal_value(out) if type(source_dot) is Zero else self.bind(source_dot, x, **params)

    def transpose(self, ct: Any, source: Any, x: Any, **params: Any) -> Sequence[Any]:
        ones = (1,) * np.ndim(x)
        return [select_and_gather_add_p.bind(ct, x, base_dilation=ones, window_dilation=ones, **params), None]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        size = next(np.shape(x)[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
        front = [batch_dim_at_front(x, dim, size) for x, dim in zip(args, dims, strict=True)]
        return self.bind(*front, **_with_batch(params, 0)), 0


reduce_window_sum_p = WindowSum("sum", reduce_sum_p)
reduce_window_max_p = WindowReducer("max", reduce_max_p)
reduce_window_min_p = WindowReducer("min", reduce_min_p)
select_and_gather_add_p = SelectAndGatherAdd()
select_and_scatter_add_p = SelectAndScatterAdd()
REDUCERS: dict[Any, WindowReducer] = {add: reduce_window_sum_p, max: reduce_window_max_p, min: reduce_window_min_p}


def _extreme(select_prim: Primitive) -> str:
    return "max" if select_prim is ge_p else "min"


def _picked(x: Any, select_prim: Primitive, **params: Any) -> tuple[Any, Ints]:
    """Return which element of each window is the extreme: bool[*counts, window size], and the counts."""
    counts = window_counts(np.shape(x), **params)
    flat = (*counts, math.prod(params["window_dimensions"]))
    laid_out = reshape(windows(x, identity(_extreme(select_prim), dtype_of(x)), **params), flat)
    arg_p = argmax_p if select_prim is ge_p else argmin_p
    place = arg_p.bind(laid_out, axes=(len(counts),), index_dtype=INT32)
    every = broadcasted_iota(INT32, flat, len(counts))
    return eq(every, broadcast_in_dim(place, flat, tuple(range(len(counts))))), counts


def _hang_over(params: dict[str, Any]) -> bool:
    """Are there windows that are not all in the array?"""
    return any(low > 0 or high > 0 for low, high in params["padding"])


def _jump(params: dict[str, Any]) -> bool:
    """Do windows move by more than one element along rows?"""
    return bool(params["window_dimensions"][-1] > 1 and params["window_strides"][-1] > 1)


def _along(params: dict[str, Any], axis: int) -> dict[str, Any]:
    """Return the parameters of windows along one dimension alone; along others each element is one."""
    return {name: tuple(v if k == axis else (0, 0) if name == "padding" else 1 for k, v in enumerate(value))
            for name, value in params.items()}


def _with_batch(params: dict[str, Any], dim: int) -> dict[str, Any]:
    """Return the parameters for operands with one more dimension at `dim`, along which windows have one element."""
    return {name: value if name == "select_prim" else inserted(tuple(value), dim, (0, 0) if name == "padding" else 1)
            for name, value in params.items()}


def _check_windows(x: ShapedArray, window_dimensions: Ints, window_strides: Ints, padding: Pads, base_dilation: Ints,
                   window_dilation: Ints) -> None:
    check_shapelike("reduce_window", "window_dimensions", window_dimensions, positive=True)
    check_shapelike("reduce_window", "window_strides", window_strides, positive=True)
    check_shapelike("reduce_window", "base_dilation", base_dilation)
    check_shapelike("reduce_window", "window_dilation", window_dilation)
    if x.ndim != len(window_dimensions):
        raise TypeError("reduce_window got the wrong number of window_dimensions for operand: got operand shape "
                        f"{x.shape} with window_dimensions {window_dimensions}.")
    for name, value in (("window_strides", window_strides), ("base_dilation", base_dilation),
                        ("window_dilation", window_dilation)):
        if len(value) != len(window_dimensions):
            raise TypeError(f"reduce_window got inconsistent {name} and window_dimensions: got {name} {value} and "
                            f"window_dimensions {window_dimensions}.")
