"""Reading windows at computed positions, and its transpose, adding to them: gather, scatter-add and scatter-sub."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, aval_of, canonicalize_shape
from tinytrace.core.dtypes import dtype_of, is_inexact, is_integer, is_unsigned, is_weak
from tinytrace.core.jaxpr import Jaxpr, JaxprEqn, Var
from tinytrace.core.kinds import Expr, Gather, Index, Kind, Scatter, literal, where
from tinytrace.core.primitive import ALL, Primitive, refuse
from tinytrace.core.storage_types import integer_limits
from tinytrace.core.tangents import is_undefined_primal
from tinytrace.primitives.arithmetic import add, add_p, sub_p
from tinytrace.primitives.broadcasting import batch_dim_at_front, broadcast_in_dim, expand_dims
from tinytrace.primitives.checks import check_same_dtypes, shifted
from tinytrace.primitives.comparison import lt
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.duals import instantiate
from tinytrace.primitives.elementwise import const_like, neg, zero_like
from tinytrace.primitives.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    Ints,
    ScatterDimensionNumbers,
    check_scatter,
    flat_positions,
    gather_of_scatter,
    gather_shape,
    position_expr,
    scatter_of_gather,
    window_sizes,
)
from tinytrace.primitives.select import select
from tinytrace.primitives.shaping import NDArray, moveaxis
from tinytrace.util import cache_context


def gather(operand: Any, start_indices: Any, dimension_numbers: GatherDimensionNumbers, slice_sizes: Any, *,
           unique_indices: bool = False, indices_are_sorted: bool = False,
           mode: str | GatherScatterMode | None = None, fill_value: Any = None) -> Any:
    """Copy windows of `slice_sizes` from the positions that the rows of `start_indices` name.

    Raises: TypeError when the dimension numbers do not fit the shapes.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.gather.html; `x[index]` is the friendly form.

    >>> numbers = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> gather(np.float32([10, 20, 30]), np.int32([[2], [0]]), numbers, (1,))
    Array([30., 10.], dtype=float32)
    """
    parsed = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    if parsed is not GatherScatterMode.FILL_OR_DROP:
        fill_value = None
    elif fill_value is None:
        fill_value = _default_fill(dtype_of(operand))
    return gather_p.bind(
        operand, start_indices, dimension_numbers=dimension_numbers, slice_sizes=canonicalize_shape(slice_sizes),
        unique_indices=bool(unique_indices), indices_are_sorted=bool(indices_are_sorted), mode=parsed,
        fill_value=fill_value)


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """Read `src` at positions along `axes`, given by one vector of indices for each; they count modulo the size.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.index_take.html.

    >>> index_take(np.float32([[1, 2], [3, 4]]), [np.int32([0, -1])], [0])
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    shape = np.shape(src)
    indices = concatenate([expand_dims(i, (1,)) for i in idxs], 1)
    found = indices % expand_dims(np.array([shape[axis] for axis in axes]), (0,))
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape) - len(axes) + 1)), tuple(axes), tuple(axes))
    return gather(src, found, numbers, [1 if axis in axes else size for axis, size in enumerate(shape)])


def scatter_add(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None) -> Any:
    """Add `updates` to the windows of `operand` that `scatter_indices` name; windows that lie outside are dropped.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.scatter_add.html; `x.at[index].add` is the friendly
    form.

    >>> numbers = ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter_add(np.float32([0, 0, 0]), np.int32([[2], [2]]), np.float32([1, 5]), numbers)
    Array([0., 0., 6.], dtype=float32)
    """
    return scatter_add_p.apply(operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                               unique_indices, mode)


def scatter_sub(operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: ScatterDimensionNumbers, *,
                indices_are_sorted: bool = False, unique_indices: bool = False,
                mode: str | GatherScatterMode | None = None) -> Any:
    """Subtract `updates` from the windows of `operand` that `scatter_indices` name; see `scatter_add`."""
    return scatter_sub_p.apply(operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
                               unique_indices, mode)


# --- gather ----------------------------------------------------------------------------------------------------

class GatherPrimitive(Primitive):
    """`gather[dimension_numbers=... slice_sizes=(1,) ...] x: f32[n] i: i32[m,1]` is f32[m]."""

    name = "gather"
    reads = slice(1, None)

    def abstract_eval(self, x: ShapedArray, indices: ShapedArray, *, dimension_numbers: GatherDimensionNumbers,
                      slice_sizes: Ints, **params: Any) -> ShapedArray:
        shape = gather_shape(x, indices, dimension_numbers, slice_sizes)
        if not is_integer(indices.dtype):
            raise ValueError("indices must have an integer type")
        return x.update(shape=shape)

    def impl(self, x: NDArray, indices: NDArray, *, dimension_numbers: GatherDimensionNumbers, slice_sizes: Ints,
             mode: GatherScatterMode, fill_value: Any, **params: Any) -> NDArray:
        shape = gather_shape(aval_of(x), aval_of(indices), dimension_numbers, slice_sizes)
        clip = mode is not GatherScatterMode.FILL_OR_DROP
        flat, inside = flat_positions(indices, x.shape, dimension_numbers, slice_sizes, shape, clip)
        if clip:
            return np.take(x.reshape(-1), flat)
        found = np.take(x.reshape(-1), np.where(inside, flat, 0))
        return np.where(inside, found, np.array(fill_value).astype(x.dtype))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, mode: GatherScatterMode, fill_value: Any,
            **params: Any) -> tuple[Any, Any]:
        (x, indices), (t, _) = primals, tangents
        out = self.bind(x, indices, mode=mode, fill_value=fill_value, **params)
        return out, gather(t, indices, mode=mode, fill_value=0, **params)

    def transpose(self, ct: Any, x: Any, indices: Any, *, dimension_numbers: GatherDimensionNumbers,
                  unique_indices: bool, indices_are_sorted: bool, mode: GatherScatterMode,
                  **params: Any) -> Sequence[Any]:
        zeros = broadcast_in_dim(zero_like(ct), x.aval.shape, ())
        return [scatter_add_p.apply(zeros, indices, ct, scatter_of_gather(dimension_numbers), indices_are_sorted,
                                    unique_indices, mode), None]

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, dimension_numbers: GatherDimensionNumbers,
              slice_sizes: Ints, unique_indices: bool, indices_are_sorted: bool, **params: Any) -> tuple[Any, Any]:
        (x, indices), (dim, indices_dim) = args, dims
        old = dimension_numbers
        offset_dims, collapsed, index_map, batching, indices_batching = (shifted(axes, 0) for axes in old)
        if indices_dim is None:  # every window gets one more dimension
            assert dim is not None
            x = moveaxis(x, dim, 0)
            numbers = GatherDimensionNumbers((0, *offset_dims), collapsed, index_map, batching,
                                             old.start_indices_batching_dims)
            slice_sizes = (np.shape(x)[0], *slice_sizes)
        elif dim is None:  # there are more windows; whether sorted or distinct is no longer known
            indices = moveaxis(indices, indices_dim, 0)
            numbers = old._replace(offset_dims=offset_dims, start_indices_batching_dims=indices_batching)
            unique_indices = indices_are_sorted = False
        else:
            x, indices = moveaxis(x, dim, 0), moveaxis(indices, indices_dim, 0)
            numbers = GatherDimensionNumbers(offset_dims, collapsed, index_map, (0, *batching), (0, *indices_batching))
            slice_sizes = (min(1, np.shape(x)[0]), *slice_sizes)
        return gather(x, indices, numbers, slice_sizes, unique_indices=unique_indices,
                      indices_are_sorted=indices_are_sorted, **params), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              dimension_numbers: GatherDimensionNumbers, slice_sizes: Ints, mode: GatherScatterMode, fill_value: Any,
              **params: Any) -> Kind:
        x, clip = in_avals[0], mode is not GatherScatterMode.FILL_OR_DROP

        def element(i: Index, read: Any) -> Expr:
            position, inside = position_expr(i, lambda at: read(1, at), x.shape, dimension_numbers, slice_sizes, clip)
            found: Expr = read(0, position)
            return found if clip else where(inside, found, literal(fill_value, x.dtype))

        return Gather(element)


def _default_fill(dtype: Any) -> Any:
    """Return what a gather gives where it finds nothing: NaN, the smallest integer, the largest unsigned one, True."""
    if is_inexact(dtype):
        return np.nan
    if dtype.kind == "b":
        return True
    if is_integer(dtype):
        info = integer_limits(dtype)
        return int(info.max if is_unsigned(dtype) else info.min)
    raise ValueError(f"Unsupported dtype for gather fill_value {dtype}")


# --- scatter ---------------------------------------------------------------------------------------------------

class Scatterer(Primitive):
    """The family: combine updates into windows of the operand, one after the other in the order of the updates."""

    reads = ALL

    combine: str
    """Which `kinds.Scatter` it is."""
    ufunc: np.ufunc | None
    """NumPy's function of that meaning; None: replace."""
    combiner: Primitive | None
    """The primitive that `update_jaxpr` shows; None: there is none to show."""

    def __init__(self, name: str, combine: str, ufunc: np.ufunc | None, combiner: Primitive | None) -> None:
        self.combine, self.ufunc, self.combiner = combine, ufunc, combiner
        super().__init__(name)

    def apply(self, operand: Any, indices: Any, updates: Any, numbers: ScatterDimensionNumbers,
              indices_are_sorted: bool, unique_indices: bool, mode: str | GatherScatterMode | None) -> Any:
        """Bind with the parameters that an equation has."""
        return self.bind(
            operand, indices, updates, dimension_numbers=numbers, indices_are_sorted=bool(indices_are_sorted),
            unique_indices=bool(unique_indices), mode=GatherScatterMode.from_any(mode), update_consts=(),
            update_jaxpr=_combining_jaxpr(self.combiner, dtype_of(operand), is_weak(operand), cache_context()))

    def abstract_eval(self, x: ShapedArray, indices: ShapedArray, updates: ShapedArray, *,
                      dimension_numbers: ScatterDimensionNumbers, **params: Any) -> ShapedArray:
        check_scatter(x, indices, updates, dimension_numbers)
        if not is_integer(indices.dtype):
            raise ValueError("indices must have an integer type")
        check_same_dtypes("scatter", x, updates)
        return x

    def impl(self, x: NDArray, indices: NDArray, updates: NDArray, *, dimension_numbers: ScatterDimensionNumbers,
             mode: GatherScatterMode, **params: Any) -> NDArray:
        sizes = window_sizes(dimension_numbers, x.ndim, updates.shape)
        flat, inside = flat_positions(indices, x.shape, gather_of_scatter(dimension_numbers), sizes, updates.shape,
                                      mode is GatherScatterMode.CLIP)
        out = np.array(x).reshape(-1)
        if self.ufunc is None:
            out[flat[inside]] = updates[inside]
        else:
            self.ufunc.at(out, flat[inside], updates[inside])
        return out.reshape(x.shape)

    jvp = refuse("each kind of scatter has a rule of its own")
    transpose = refuse("it is not linear in its operands")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, dimension_numbers: ScatterDimensionNumbers,
              **params: Any) -> tuple[Any, Any]:
        size = next(np.shape(x)[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
        (x, indices, updates), indices_dim = args, dims[1]
        x, updates = batch_dim_at_front(x, dims[0], size), batch_dim_at_front(updates, dims[2], size)
        window, inserted, index_map, batching, indices_batching = (shifted(axes, 0) for axes in dimension_numbers)
        if indices_dim is None:
            numbers = ScatterDimensionNumbers((0, *window), inserted, index_map, batching,
                                              dimension_numbers.scatter_indices_batching_dims)
        else:
            indices = moveaxis(indices, indices_dim, 0)
            numbers = ScatterDimensionNumbers(window, inserted, index_map, (0, *batching), (0, *indices_batching))
        return self.bind(x, indices, updates, dimension_numbers=numbers, **params), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              dimension_numbers: ScatterDimensionNumbers, mode: GatherScatterMode, **params: Any) -> Kind:
        x, _, updates = in_avals
        sizes = window_sizes(dimension_numbers, x.ndim, updates.shape)
        numbers = gather_of_scatter(dimension_numbers)
        clip = mode is GatherScatterMode.CLIP

        def target(i: Index, read: Any) -> tuple[Sequence[Any], Expr | None]:
            position, inside = position_expr(i, lambda at: read(1, at), x.shape, numbers, sizes, clip)
            return position, None if clip else inside

        return Scatter(self.combine, 2, target)


class ScatterLinear(Scatterer):
    """`scatter-add[...] x: f32[n] i: i32[m,1] updates: f32[m]` is f32[n]; scatter-sub takes the updates away."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x, indices, updates), (x_dot, _, updates_dot) = primals, tangents
        out = self.bind(x, indices, updates, **params)
        return out, self.bind(instantiate(x_dot), indices, instantiate(updates_dot), **params)

    def transpose(self, ct: Any, x: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
                  mode: GatherScatterMode, **params: Any) -> Sequence[Any]:
        updates_ct = None
        if is_undefined_primal(updates):
            updates_ct = gather_updates(ct, indices, dimension_numbers, updates.aval.shape, mode)
            updates_ct = neg(updates_ct) if self.combine == "sub" else updates_ct
        return [ct if is_undefined_primal(x) else None, None, updates_ct]


gather_p = GatherPrimitive()
scatter_add_p = ScatterLinear("scatter-add", "add", np.add, add_p)
scatter_sub_p = ScatterLinear("scatter-sub", "sub", np.subtract, sub_p)


def gather_updates(x: Any, indices: Any, numbers: ScatterDimensionNumbers, updates_shape: Ints,
                   mode: GatherScatterMode | None = None) -> Any:
    """Read the windows of `x` that a scatter of updates of `updates_shape` writes; 0 for those it drops."""
    return gather(x, indices, gather_of_scatter(numbers), window_sizes(numbers, np.ndim(x), updates_shape), mode=mode,
                  fill_value=0)


def wrapped(at: Any, size: int) -> Any:
    """Return indices, of which those below 0 are counted from the end of `size`: as NumPy's indexing means them."""
    return select(lt(at, const_like(at, 0)), add(at, const_like(at, size)), at)


@functools.cache
def _combining_jaxpr(combiner: Primitive | None, dtype: np.dtype[Any], weak: bool, context: Any) -> Jaxpr | None:
    """Return `{ lambda ; a b. let c = combiner a b in (c,) }`, which is only printed.

    Equal ones of one context are one object, which the printer shows by writing it once.
    """
    if combiner is None:
        return None
    a, b, c = (Var(ShapedArray((), dtype)) for _ in range(3))
    return Jaxpr([], [a, b], [c], [JaxprEqn([a, b], [c], combiner, {})])
