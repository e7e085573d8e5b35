"""Sorting along one axis, with any number of arrays carried along, and the k largest elements."""
from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BFLOAT16, INT32, is_complex, is_float
from tinytrace.core.formulas import Formula, FormulaLike, call_host, constant, place
from tinytrace.core.kinds import Kind, Routine
from tinytrace.core.primitive import ALL, Primitive, refuse
from tinytrace.core.tangents import Zero
from tinytrace.primitives.broadcasting import broadcast_in_dim, expand_dims
from tinytrace.primitives.checks import canonicalize_axis, remaining
from tinytrace.primitives.composite import OnParts
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.creation import broadcasted_iota
from tinytrace.primitives.elementwise import filled_like
from tinytrace.primitives.gathering import gather, wrapped
from tinytrace.primitives.indexing import GatherDimensionNumbers
from tinytrace.primitives.shaping import NDArray, moveaxis, reshape, transpose


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sort `operand`, or several arrays by the first `num_keys` of them, along `dimension`.

    -0 and 0 are equal and NaN comes last; equal elements keep their order.
    Raises: TypeError without operands, ValueError for `num_keys` out of range.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.sort.html.

    >>> sort(np.float32([3, np.nan, 1]))
    Array([ 1.,  3., nan], dtype=float32)
    """
    if isinstance(operand, Sequence):
        if len(operand) == 0:
            raise TypeError("Sort requires at least one operand")
        if not 1 <= num_keys <= len(operand):
            raise ValueError(f"num_keys={num_keys} must be between 1 and len(operand)={len(operand)}")
        axis = canonicalize_axis(dimension, np.ndim(operand[0]))
        return tuple(sort_p.bind(*operand, dimension=axis, is_stable=is_stable, num_keys=num_keys))
    if num_keys != 1:
        raise ValueError(f"num_keys={num_keys} must equal 1 for a single operand.")
    axis = canonicalize_axis(dimension, np.ndim(operand))
    return sort_p.bind(operand, dimension=axis, is_stable=is_stable, num_keys=1)[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Sort `keys` along `dimension` and put `values` into the same order.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.sort_key_val.html.
    """
    axis = canonicalize_axis(dimension, np.ndim(keys))
    keys, values = sort_p.bind(keys, values, dimension=axis, is_stable=is_stable, num_keys=1)
    return keys, values


def top_k(operand: Any, k: int) -> Any:
    """Return the `k` largest elements along the last axis, largest first, and their positions.

    Of equals the first comes first. Floats are in IEEE 754's total order: NaN is larger than all numbers, 0 larger
    than -0, and -NaN less than all.
    Raises: ValueError when `k` is negative or larger than that axis.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.top_k.html.

    >>> top_k(np.float32([9, 3, 6]), 2)
    [Array([9., 6.], dtype=float32), Array([0, 2], dtype=int32)]
    """
    k = operator.index(k)
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    return top_k_p.bind(operand, k=k)


# --- rooms -----------------------------------------------------------------------------------------------------

class Sort(OnParts):
    """`sort[dimension=0 is_stable=True num_keys=1] keys: f32[n] values: i32[n]` is f32[n], i32[n]."""

    name = "sort"
    multiple_results = True
    reads = ALL

    def abstract_eval(self, *avals: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> list[ShapedArray]:
        if any(aval.shape != avals[0].shape for aval in avals):
            shapes = " ".join(str(aval.shape) for aval in avals)
            raise TypeError(f"Arguments to sort must have equal shapes, got: {shapes}")
        return list(avals)

    def impl(self, *args: NDArray, dimension: int, is_stable: bool, num_keys: int) -> list[NDArray]:
        shape = args[0].shape
        lines = math.prod(shape[:dimension]), shape[dimension], math.prod(shape[dimension + 1:])
        args = tuple([x.reshape(lines) for x in args])  # NumPy orders what has at most 32 axes
        keys = [part for key in reversed(args[:num_keys]) for part in _comparable(key)]
        order = np.lexsort(keys, 1)
        return [np.take_along_axis(x, order, 1).reshape(shape) for x in args]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int, is_stable: bool,
            num_keys: int) -> tuple[Any, Any]:
        shape = np.shape(primals[0])
        positions = [broadcasted_iota(np.int32, shape, axis) for axis in range(len(shape))]
        *outs, order = self.bind(*primals, positions[dimension], dimension=dimension, is_stable=is_stable,
                                 num_keys=num_keys)
        positions[dimension] = order
        return outs, [t if type(t) is Zero else _elements_at(t, positions) for t in tangents]

    transpose = refuse("an order is not linear in the elements")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, dimension: int, is_stable: bool,
              num_keys: int) -> tuple[Any, Any]:
        example, dim = next((x, d) for x, d in zip(args, dims, strict=True) if d is not None)
        shape = np.shape(example)
        moved = [broadcast_in_dim(x, shape, remaining(len(shape), (dim,))) if d is None else moveaxis(x, d, dim)
                 for x, d in zip(args, dims, strict=True)]
        outs = self.bind(*moved, dimension=dimension + (dim <= dimension), is_stable=is_stable, num_keys=num_keys)
        return outs, [dim] * len(outs)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, dimension: int,
              is_stable: bool, num_keys: int) -> Kind:
        if any(is_complex(aval.dtype) for aval in in_avals):
            return self.program_on_parts(in_avals, {"dimension": dimension, "is_stable": is_stable,
                                                    "num_keys": num_keys})
        shape = in_avals[0].shape
        lines = math.prod(shape[:dimension]), shape[dimension], math.prod(shape[dimension + 1:])
        if len(in_avals) == 1:
            call = call_host("sort", *how_compared(in_avals[0]), *lines, place("in0"), place("out0"))
            return Routine((call,), has_status=True)
        calls = find_order(in_avals[:num_keys], lines, place("scratch"))
        calls += [take(k, aval, lines, place("scratch")) for k, aval in enumerate(in_avals)]
        return Routine(tuple(calls), math.prod(shape), has_status=True, separate=len(in_avals),
                       alone=sorted_by(in_avals, num_keys, lines, place("scratch")))


class TopK(Primitive):
    """`top_k[k=2] x: f32[m,n]` is f32[m,2], i32[m,2].

    There is a parameter that JAX does not have, and that is not printed: without `is_sorted` those that equal the last
    one are last, and the others before them, both in the order of the line. For that nothing is sorted.
    """

    name = "top_k"
    multiple_results = True
    reads = ALL

    def abstract_eval(self, x: ShapedArray, *, k: int, is_sorted: bool = True) -> list[ShapedArray]:
        if is_complex(x.dtype):
            raise ValueError("top_k is not compatible with complex inputs.")
        if x.ndim == 0:
            raise TypeError(f"top_k operand must have >= 1 dimension, got {x.shape}")
        if x.shape[-1] < k:
            raise ValueError("k argument to top_k must be no larger than minor dimension; "
                             f"{k} vs {list(x.shape)}")
        shape = (*x.shape[:-1], k)
        return [x.update(shape=shape), x.update(shape=shape, dtype=INT32)]

    def impl(self, x: NDArray, *, k: int, is_sorted: bool = True) -> list[NDArray]:
        # From the end, so that the stable ascending order, read backwards, has the first of equals first.
        key = np.flip(_in_total_order(x) if is_float(x.dtype) else x, -1)
        order = x.shape[-1] - 1 - np.flip(np.argsort(key, -1, "stable"), -1)[..., :k]
        if not is_sorted:
            key = np.flip(key, -1)
            last = np.take_along_axis(key, order, -1) == np.take_along_axis(key, order[..., -1:], -1)
            order = np.sort(order + last * x.shape[-1], -1) % max(x.shape[-1], 1)
        return [np.take_along_axis(x, order, -1), order.astype(np.int32)]

    def pp_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"k": params["k"]}

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        values, positions = self.bind(*primals, **params)
        rank = np.ndim(positions)
        rows = tuple(range(rank - 1))
        numbers = GatherDimensionNumbers((), (rank - 1,), (rank - 1,), rows, rows)
        picked = gather(tangents[0], reshape(positions, (*np.shape(positions), 1)), numbers, (1,) * rank)
        return [values, positions], [picked, Zero.from_primal_value(positions)]

    transpose = refuse("an order is not linear in the elements")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        ndim = np.ndim(x)
        if dim != ndim - 1:
            return self.bind(x, **params), [dim, dim]
        order = (*range(ndim - 2), ndim - 1, ndim - 2)
        return [transpose(out, order) for out in self.bind(transpose(x, order), **params)], [dim, dim]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, k: int,
              is_sorted: bool = True) -> Kind:
        x, = in_avals
        lines, n = math.prod(x.shape[:-1]), x.shape[-1]
        nbytes, kind = how_compared(x)
        kind = kind if is_sorted else constant("TT_UNORDERED") | kind
        call = call_host("top_k", nbytes, kind, lines, n, k, *map(place, ("in0", "out0", "out1")))
        return Routine((call,), has_status=True, optional=True)


sort_p = Sort()
top_k_p = TopK()


def _elements_at(x: Any, positions: Sequence[Any]) -> Any:
    """Return `x[positions]`, one index array of the shape of `x` per axis, with the equations of numpy's indexing."""
    shape = np.shape(x)
    if 0 in shape:  # there is no element to read
        return filled_like(x, 0)
    counted = [wrapped(at, size) for at, size in zip(positions, shape, strict=True)]
    axes = tuple(range(len(shape)))
    rows = [broadcast_in_dim(at, (*shape, 1), axes) for at in counted]
    found = gather(x, concatenate(rows, len(shape)), GatherDimensionNumbers((), axes, axes), (1,) * len(shape))
    return expand_dims(found, ())  # no equation; but its transpose, the sum over no axes, is one


def _comparable(x: NDArray) -> list[NDArray]:
    """Return what NumPy orders as `x` is ordered here, the least significant first: of complex numbers the parts."""
    if is_complex(x.dtype):
        return [x.imag, x.real]
    return [x.astype(np.float32) if is_float(x.dtype) and x.dtype.itemsize == 2 else x]


def _in_total_order(x: NDArray) -> NDArray:
    """Return integers that compare as the floats `x` do in IEEE 754's total order."""
    bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


# --- C: csrc/sort.c ---------------------------------------------------------------------------------------------

def how_compared(x: ShapedArray) -> tuple[FormulaLike, FormulaLike]:
    """Return how many bytes an element has, and how elements compare (csrc/tt_host.h)."""
    kind: FormulaLike = constant("TT_SIGNED") if x.dtype.kind == "i" else 0
    if is_float(x.dtype):
        kind = constant("TT_FLOAT")
        kind = kind | constant("TT_BRAIN") if x.dtype == BFLOAT16 else kind
    return x.dtype.itemsize, kind


def find_order(keys: Sequence[ShapedArray], lines: tuple[int, int, int], order: FormulaLike) -> list[Formula]:
    """Return the calls that leave the order by the first operands at a place: the last key's first, then finer ones."""
    return [call_host("order", *how_compared(keys[k]), int(k < len(keys) - 1), *lines, place(f"in{k}"), order)
            for k in reversed(range(len(keys)))]


def take(operand: int, x: ShapedArray, lines: tuple[int, int, int], order: FormulaLike) -> Formula:
    """Return the call that puts an operand into the order at a place."""
    return call_host("take", x.dtype.itemsize, *lines, place(f"in{operand}"), order, place(f"out{operand}"))


def sorted_by(operands: Sequence[ShapedArray], num_keys: int, lines: tuple[int, int, int], order: FormulaLike
              ) -> tuple[Formula | None, ...]:
    """Return for each operand the call that sorts it by the key and leaves all others alone, if there is one."""
    is_one_line = num_keys == 1 and lines[0] == lines[2] == 1 and operands[0].dtype.itemsize == 4
    return tuple(call_host("sort_by", how_compared(operands[0])[1], lines[1], place("in0"), place(f"in{k}"), order,
                           place(f"out{k}")) if is_one_line and k and x.dtype.itemsize == 4 else None
                 for k, x in enumerate(operands))
