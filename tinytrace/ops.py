"""`jax.ops`: reductions of segments, which are the elements that share a number.

See https://jax.readthedocs.io/en/latest/jax.ops.html.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace.core.dtypes import BOOL, DType, is_integer
from tinytrace.numpy.arithmetic import floor_divide
from tinytrace.numpy.array_creation import asarray, full
from tinytrace.numpy.promotion import ArrayLike, Value, check_arraylike, concrete_index
from tinytrace.numpy.ranges import arange
from tinytrace.numpy.reductions import max, min, prod, sum
from tinytrace.numpy.updates import scatter_update

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def segment_sum(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None,
                mode: Any = None) -> Value:
    """Return the sum of each segment: f32[num_segments, ...] for `data: f32[n, ...]` and `segment_ids: i32[n]`.

    num_segments: the largest number and one more, if None; numbers that are out of range are left out.
    indices_are_sorted, unique_indices: promises about `segment_ids`.
    bucket_size: add up so many elements first, then the buckets, which rounds less.
    Raises: ConcretizationTypeError inside jit without `num_segments`.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.ops.segment_sum.html.

    >>> jax.ops.segment_sum(jnp.array([1.0, 2.0, 4.0]), jnp.array([0, 1, 1]))
    Array([1., 6.], dtype=float32)
    """
    return _segment_reduce("segment_sum", data, segment_ids, lax.scatter_add, num_segments, indices_are_sorted,
                           unique_indices, bucket_size, sum, mode)


def segment_prod(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                 indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None,
                 mode: Any = None) -> Value:
    """Return the product of each segment, as `segment_sum` does sums; 1 for an empty one.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.ops.segment_prod.html.

    >>> jax.ops.segment_prod(jnp.array([1.0, 2.0, 4.0]), jnp.array([0, 1, 1]))
    Array([1., 8.], dtype=float32)
    """
    return _segment_reduce("segment_prod", data, segment_ids, lax.scatter_mul, num_segments, indices_are_sorted,
                           unique_indices, bucket_size, prod, mode)


def segment_max(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None,
                mode: Any = None) -> Value:
    """Return the largest element of each segment, as `segment_sum` does sums; the least number for an empty one.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.ops.segment_max.html.

    >>> jax.ops.segment_max(jnp.array([1.0, 2.0, 4.0]), jnp.array([0, 1, 1]))
    Array([1., 4.], dtype=float32)
    """
    return _segment_reduce("segment_max", data, segment_ids, lax.scatter_max, num_segments, indices_are_sorted,
                           unique_indices, bucket_size, max, mode)


def segment_min(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None,
                indices_are_sorted: bool = False, unique_indices: bool = False, bucket_size: int | None = None,
                mode: Any = None) -> Value:
    """Return the smallest element of each segment, as `segment_sum` does sums; the greatest number for an empty one.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.ops.segment_min.html.

    >>> jax.ops.segment_min(jnp.array([1.0, 2.0, 4.0]), jnp.array([0, 1, 1]))
    Array([1., 2.], dtype=float32)
    """
    return _segment_reduce("segment_min", data, segment_ids, lax.scatter_min, num_segments, indices_are_sorted,
                           unique_indices, bucket_size, min, mode)


def _segment_reduce(name: str, data: ArrayLike, segment_ids: ArrayLike, scatter: Callable[..., Value],
                    num_segments: int | None, indices_are_sorted: bool, unique_indices: bool, bucket_size: int | None,
                    reduce: Callable[..., Value], mode: Any) -> Value:
    check_arraylike(name, data, segment_ids)
    mode = lax.GatherScatterMode.FILL_OR_DROP if mode is None else mode
    data, segment_ids = asarray(data), asarray(segment_ids)
    if num_segments is None:
        num_segments = max(segment_ids) + 1
    count = concrete_index(num_segments, "segment_sum() `num_segments` argument.")
    if count < 0:
        raise ValueError("num_segments must be non-negative.")
    start = _start(scatter, data.dtype)
    if bucket_size is None:
        out = full((count, *data.shape[1:]), start, dtype=data.dtype)
        return scatter_update(out, segment_ids, data, scatter, indices_are_sorted, unique_indices, mode, False)
    out = full((-(-segment_ids.size // bucket_size), count, *data.shape[1:]), start, dtype=data.dtype)
    index = floor_divide(arange(segment_ids.shape[0]), bucket_size), segment_ids[None, :]
    out = scatter_update(out, index, data, scatter, indices_are_sorted, unique_indices, mode, False)
    return reduce(out, axis=0).astype(data.dtype)


def _start(scatter: Callable[..., Value], dtype: DType) -> Any:
    """Return what an empty segment reduces to."""
    if scatter in (lax.scatter_add, lax.scatter_mul):
        return int(scatter is lax.scatter_mul)
    is_min = scatter is lax.scatter_min
    if dtype == BOOL:
        return is_min
    if is_integer(dtype):
        limits = np.iinfo(dtype)
        return limits.max if is_min else limits.min
    return np.inf if is_min else -np.inf
