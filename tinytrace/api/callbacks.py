"""`pure_callback`: a value computed by Python in the middle of a compiled program."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.control_flow.callbacks import VMAP_METHODS, ValueOnLeaves, pure_callback_p
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import canonicalize_dtype
from tinytrace.core.trees import tree_flatten, tree_unflatten


class _Deprecated:
    def __repr__(self) -> str:
        return "Deprecated"


_DEPRECATED = _Deprecated()


def pure_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                  vectorized: Any = _DEPRECATED, vmap_method: str | None = None, **kwargs: Any) -> Any:
    """Call `callback(*args, **kwargs)`, a function without side effects, and return what it returns.

    `result_shape_dtypes` is a pytree of things with `shape` and `dtype`: the types of the results. Under `vmap`,
    `vmap_method` says how the batch is presented: "sequential" (one call per element), "expand_dims" or
    "broadcast_all" (one call on whole batches; unmapped arguments get an axis of size 1 or of the batch's).
    Raises ValueError for an unknown `vmap_method` or 64-bit results without `enable_x64`, RuntimeError when the
    results are not what was promised. Source: `jax.pure_callback`.

    >>> pure_callback(np.sin, np.float32(0), np.float32(0))
    Array(0., dtype=float32)
    """
    if not isinstance(vectorized, _Deprecated) and vectorized is not None:
        warnings.warn(
            "The vectorized argument of jax.pure_callback is deprecated and setting it will soon raise an error. To "
            "avoid an error in the future, and to suppress this warning, please use the vmap_method argument instead.",
            DeprecationWarning, stacklevel=2)
        if vmap_method is not None:
            raise ValueError("the vectorized and vmap_method arguments of jax.pure_callback cannot be used together. "
                             "Please use the vmap_method argument.")
        vmap_method = "legacy_vectorized" if vectorized else "sequential"
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"vmap_method must be on of the allowed methods {VMAP_METHODS}, but got: {vmap_method}")
    leaves, in_tree = tree_flatten((args, kwargs))
    results, out_tree = tree_flatten(result_shape_dtypes)
    outs = pure_callback_p.bind(
        *leaves, callback=ValueOnLeaves(callback, in_tree, tuple(aval_of(x).dtype for x in leaves)),
        result_avals=tuple(map(_result_aval, results)), sharding=sharding, vectorized=vectorized,
        vmap_method=vmap_method)
    return tree_unflatten(out_tree, outs)


def effects_barrier() -> None:
    """Return when all callbacks have been called: at once, for calls return only after theirs."""


def _result_aval(promised: Any) -> ShapedArray:
    dtype = promised.dtype
    if isinstance(dtype, (type, str)):
        dtype = np.dtype(dtype)
    if canonicalize_dtype(dtype) != dtype:
        raise ValueError("result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled")
    return ShapedArray(tuple(promised.shape), dtype)
