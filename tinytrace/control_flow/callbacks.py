"""Calls of the user's Python from inside a program: `debug_callback` for its effect, `pure_callback` for its value."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tinytrace.control_flow.bodies import batch_size, drop, keep, merge, stage_body, stored
from tinytrace.control_flow.effects import Effect
from tinytrace.control_flow.scan import scan_p
from tinytrace.core.array import Array, array_from_numpy, storage_dtype
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import DType, canonicalize_dtype
from tinytrace.core.kinds import HostCall, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.trees import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from tinytrace.primitives.broadcasting import broadcast
from tinytrace.primitives.shaping import moveaxis
from tinytrace.primitives.slicing import index_in_dim
from tinytrace.records import dataclass

FlatCallback = Callable[..., Sequence[Any]]
VMAP_METHODS = ["sequential", "expand_dims", "broadcast_all", "legacy_vectorized", None]


class DebugCallback(Primitive):
    """`debug_callback[callback effect] *args`: call `callback(*args)`, which returns nothing.

    Equations run one after the other, so every callback is ordered; the effect only says what was asked for.
    """

    name = "debug_callback"
    multiple_results = calls_user = True

    def effects(self, *avals: ShapedArray, effect: Effect, **params: Any) -> frozenset[Any]:
        return frozenset([effect])

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> list[ShapedArray]:
        return []

    def impl(self, *args: Any, callback: FlatCallback, **params: Any) -> list[Any]:
        callback(*args)
        return []

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
        return self.bind(*primals, **params), []

    def transpose(self, cts: Sequence[Any], *args: Any, **params: Any) -> NoReturn:
        raise ValueError("Transpose doesn't support debugging callbacks.")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[list[Any], list[Any]]:
        for i in range(batch_size(args, dims)):
            self.bind(*(x if dim is None else index_in_dim(x, i, axis=dim, keepdims=False)
                        for x, dim in zip(args, dims, strict=True)), **params)
        return [], []

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, callback: FlatCallback,
              **params: Any) -> Kind:
        return HostCall(callback)


class ValueCallback(Primitive):
    """`outs = name[callback result_avals ...] *args`: outs of type `result_avals`, computed by Python."""

    multiple_results = calls_user = True

    def abstract_eval(self, *avals: ShapedArray, result_avals: Sequence[ShapedArray], **params: Any
                      ) -> list[ShapedArray]:
        return list(result_avals)

    def impl(self, *args: Any, callback: FlatCallback, result_avals: Sequence[ShapedArray], **params: Any) -> list[Any]:
        return list(_checked_results(callback, result_avals)(*args))

    def one_by_one(self, args: Sequence[Any], mapped: Sequence[bool], size: int,
                   result_avals: Sequence[ShapedArray], params: dict[str, Any]) -> list[Any]:
        """Call the callback once per element, in a scan over the mapped arguments."""
        shared, slices = drop(args, mapped), keep(args, mapped)

        def call(*elements: Any) -> Any:
            return self.bind(*merge(mapped, shared, elements), result_avals=result_avals, **params)

        avals = [ShapedArray(np.shape(x)[1:], x.dtype) for x in slices]
        body, consts, _ = stage_body(call, tree_flatten(tuple(avals))[1], avals, "scan")
        return scan_p.bind(*consts, *slices, reverse=False, length=size, jaxpr=body,  # type: ignore[no-any-return]
                           num_consts=len(consts), num_carry=0, linear=(False,) * (len(consts) + len(slices)),
                           unroll=1, _split_transpose=False)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, callback: FlatCallback,
              **params: Any) -> Kind:
        return HostCall(_checked_results(callback, out_avals))


class PureCallback(ValueCallback):
    """`pure_callback`: the callback has no effect, so it may be called at any time, and as often as it pleases."""

    name = "pure_callback"

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> NoReturn:
        raise ValueError("Pure callbacks do not support JVP. "
                         "Please use `jax.custom_jvp` to use callbacks while taking gradients.")

    transpose = refuse("Pure callbacks do not support transpose. "
                       "Please use `jax.custom_vjp` to use callbacks while taking gradients.")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, vmap_method: str | None, vectorized: Any,
              result_avals: Sequence[ShapedArray], **params: Any) -> tuple[Sequence[Any], list[int]]:
        if vmap_method is None:
            warnings.warn(
                "The default behavior of pure_callback under vmap will soon change. Currently, the default behavior is "
                "to generate a sequential vmap (i.e. a loop), but in the future the default will be to raise an "
                "error. To keep the current default, set vmap_method='sequential'.", DeprecationWarning, stacklevel=6)
            vmap_method = "sequential"
        params.update(vectorized=vectorized, vmap_method=vmap_method)
        size = batch_size(args, dims)
        outs: Sequence[Any]
        batched = [x if dim is None else moveaxis(x, dim, 0) for x, dim in zip(args, dims, strict=True)]
        if vmap_method == "sequential":
            outs = self.one_by_one(batched, [dim is not None for dim in dims], size, result_avals, params)
        else:
            if vmap_method != "legacy_vectorized":
                repeats = size if vmap_method == "broadcast_all" else 1
                batched = [broadcast(x, (repeats,)) if dim is None else x for x, dim in zip(batched, dims, strict=True)]
            avals = tuple(aval.update(shape=(size, *aval.shape)) for aval in result_avals)
            outs = self.bind(*batched, result_avals=avals, **params)
        return outs, [0] * len(outs)


def _checked_results(callback: FlatCallback, avals: Sequence[ShapedArray]) -> FlatCallback:
    """Let `callback` answer with arrays of exactly the promised types, or fail."""

    def call(*args: Any) -> list[Any]:
        values = [stored(x) for x in callback(*args)]
        if len(values) != len(avals):
            raise RuntimeError(f"Mismatched number of outputs from callback. Expected: {len(avals)}, "
                               f"Actual: {len(values)}")
        for i, (value, aval) in enumerate(zip(values, avals, strict=True)):
            if value.shape != aval.shape:
                raise RuntimeError(f"Incorrect output shape for return value #{i}: Expected: {aval.shape}, "
                                   f"Actual: {value.shape}")
            if canonicalize_dtype(value.dtype) != storage_dtype(aval):
                raise RuntimeError(f"Incorrect output dtype for return value #{i}: Expected: {aval.dtype}, "
                                   f"Actual: {value.dtype}")
        return [value.astype(storage_dtype(aval), copy=False) for value, aval in zip(values, avals, strict=True)]

    return call


class CallOnLeaves:
    """A user's callback over flat NumPy arrays: rebuilds the arguments, with arrays of JAX's kind as leaves.

    `statics` are the leaves that are no arrays, by position (strings, say); `dtypes` the types of the others.
    """

    def __init__(self, callback: Callable[..., Any], in_tree: PyTreeDef, dtypes: Sequence[DType],
                 statics: dict[int, Any]) -> None:
        self._callback, self._in_tree, self._dtypes, self._statics = callback, in_tree, dtypes, statics

    def __call__(self, *values: Any) -> list[Any]:
        arrays = iter([array_from_numpy(stored(x), ShapedArray(np.shape(x), dtype))
                       for x, dtype in zip(values, self._dtypes, strict=True)])
        leaves = [self._statics[i] if i in self._statics else next(arrays) for i in range(self._in_tree.num_leaves)]
        args, kwargs = tree_unflatten(self._in_tree, leaves)
        self._callback(*args, **kwargs)
        return []

    def __repr__(self) -> str:
        return f"<function debug_callback.<locals>._flat_callback at {id(self):#x}>"  # as JAX prints it


@dataclass(frozen=True)
class ValueOnLeaves:
    """A user's pure callback over flat NumPy arrays; equal for the same function and arguments of one structure."""

    callback_func: Callable[..., Any]
    in_tree: PyTreeDef
    dtypes: tuple[DType, ...]

    def __call__(self, *values: Any) -> list[Any]:
        arrays: list[Array] = [array_from_numpy(stored(x), ShapedArray(np.shape(x), dtype))
                               for x, dtype in zip(values, self.dtypes, strict=True)]
        args, kwargs = tree_unflatten(self.in_tree, arrays)
        return tree_leaves(self.callback_func(*args, **kwargs))

    def __repr__(self) -> str:
        return f"_FlatCallback(callback_func={self.callback_func!r}, in_tree={self.in_tree!r})"


debug_callback_p = DebugCallback()
pure_callback_p = PureCallback()
