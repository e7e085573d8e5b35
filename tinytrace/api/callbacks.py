"""`pure_callback` and `io_callback`: values computed by Python in the middle of a compiled program."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.control_flow.callbacks import VMAP_METHODS, ValueOnLeaves, pure_callback_p
from tinytrace.control_flow.io_callback import io_callback_p
from tinytrace.core.avals import ShapedArray, aval_of
from tinytrace.core.dtypes import canonicalize_dtype
from tinytrace.core.primitive import Primitive
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
    return _bind(pure_callback_p, callback, result_shape_dtypes, args, kwargs, sharding=sharding,
                 vectorized=vectorized, vmap_method=vmap_method)


def io_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                ordered: bool = False, **kwargs: Any) -> Any:
    """Call `callback(*args, **kwargs)`, a function with side effects, and return what it returns.

    `result_shape_dtypes` is a pytree of things with `shape` and `dtype`, or None. Under `vmap` it is called for one
    element after the other; an `ordered` callback cannot be mapped, for its order would not be the program's.
    Raises ValueError under differentiation, RuntimeError when the results are not what was promised.
    Source: `jax.experimental.io_callback`.

    >>> io_callback(lambda x: print("got", x), None, np.float32(1))
    got 1.0
    """
    return _bind(io_callback_p, callback, result_shape_dtypes, args, kwargs, sharding=sharding, ordered=ordered)


def _bind(primitive: Primitive, callback: Callable[..., Any], result_shape_dtypes: Any, args: tuple[Any, ...],
          kwargs: dict[str, Any], **params: Any) -> Any:
    leaves, in_tree = tree_flatten((args, kwargs))
    results, out_tree = tree_flatten(result_shape_dtypes)
    flat_callback = ValueOnLeaves(callback, in_tree, tuple(aval_of(x).dtype for x in leaves))
    outs = primitive.bind(*leaves, callback=flat_callback, result_avals=tuple(map(_result_aval, results)), **params)
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
