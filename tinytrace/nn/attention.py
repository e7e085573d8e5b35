"""Scaled dot product attention (Vaswani et al., 2017), with masks and grouped heads."""
from __future__ import annotations

from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace.api.library import remembered
from tinytrace.api.vmapping import vmap
from tinytrace.nn.softmax import softmax
from tinytrace.numpy.promotion import ArrayLike, Value


@remembered("scale", "is_causal", "local_window_size", "implementation")
def dot_product_attention(query: ArrayLike, key: ArrayLike, value: ArrayLike, bias: ArrayLike | None = None,
                          mask: ArrayLike | None = None, *, scale: float | None = None, is_causal: bool = False,
                          query_seq_lengths: ArrayLike | None = None, key_value_seq_lengths: ArrayLike | None = None,
                          local_window_size: Any = None, implementation: str | None = None) -> Value:
    """Return `softmax(query @ key.T * scale + bias) @ value` per head.

    query: f32[b, t, n, h]; key, value: f32[b, s, k, h], where k divides n; bias: f32[b, n, t, s];
    mask: bool[b, n, t, s]
    (b may be left out). `is_causal` hides later positions, `local_window_size` distant ones, the lengths the padding.

    Raises: ValueError when shapes or dtypes do not fit.

    >>> nn.dot_product_attention(jnp.ones((1, 2, 1, 1)), jnp.ones((1, 2, 1, 1)), jnp.ones((1, 2, 1, 1))).shape
    (1, 2, 1, 1)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.dot_product_attention.html.
    """
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation}")
    shape = jnp.asarray(query).shape
    query, key, value = _with_4_dims(query), _with_4_dims(key), _with_4_dims(value)
    bias = None if bias is None else _with_4_dims(bias)
    mask = None if mask is None else _with_4_dims(mask)
    lengths = [None if x is None else jnp.asarray(x) for x in (query_seq_lengths, key_value_seq_lengths)]
    window = (local_window_size,) * 2 if isinstance(local_window_size, int) else local_window_size
    b, s, k, h = key.shape
    _check("value", value, (b, s, k, h), key.dtype)
    _check("query", query, (b, -1, -1, h), key.dtype)
    _check("mask", mask, (-1,) * 4, np.bool_)
    _check("bias", bias, (-1,) * 4, None)
    _check("query_seq_lengths", lengths[0], (b,), np.int32)
    _check("key_value_seq_lengths", lengths[1], (b,), np.int32)
    if query.shape[-2] % k:
        raise ValueError("The number of query heads must be a multiple of key/value heads, but got "
                         f"{query.shape[-2]} vs {k}")
    scale = 1.0 / np.sqrt(h) if scale is None else scale
    out = _attend_in_groups(query, key, value, bias, mask, is_causal, scale, lengths[0], lengths[1], window)
    return jnp.reshape(out, shape)


def _with_4_dims(x: Any) -> Value:
    x = jnp.asarray(x)
    return jnp.expand_dims(x, tuple(range(4 - x.ndim))) if x.ndim < 4 else x


def _check(name: str, x: Value | None, shape: tuple[int, ...], dtype: Any) -> None:
    if x is None:
        return
    if x.ndim != len(shape):
        raise ValueError(f"{name} ndim should be {len(shape)}, but got {x.ndim}")
    if dtype is not None and x.dtype != dtype:
        raise ValueError(f"{name} dtype should be {np.dtype(dtype)}, but got {x.dtype}")
    if any(wanted not in (-1, size) for size, wanted in zip(x.shape, shape, strict=True)):
        raise ValueError(f"{name} shape should be {list(shape)}: but got {x.shape}")


def _attend_in_groups(query: Value, key: Value, value: Value, bias: Value | None, mask: Value | None,
                      *rest: Any) -> Value:
    """Let each head of key and value serve a group of heads of the query."""
    b, t, n, h = query.shape
    k = key.shape[2]
    groups = n // k
    attend = vmap(_attend, in_axes=(3, None, None, 2, 2, None, None, None, None, None), out_axes=3)
    query = jnp.reshape(query, (b, t, k, groups, h))
    out = attend(query, key, value, _grouped(bias, k, groups), _grouped(mask, k, groups), *rest)
    return jnp.reshape(out, (b, t, n, h))


def _grouped(x: Value | None, k: int, groups: int) -> Value | None:
    if x is None:
        return None
    b, n, t, s = x.shape
    if n == 1:
        return jnp.broadcast_to(x[:, :, None, :, :], (b, n, groups, t, s))
    return jnp.reshape(x, (b, k, groups, t, s))


def _attend(query: Value, key: Value, value: Value, bias: Value | None, mask: Value | None, is_causal: bool,
            scale: float, query_lengths: Value | None, key_lengths: Value | None, window: Any) -> Value:
    dtype = jnp.promote_types(query.dtype, jnp.float32)
    logits = jnp.einsum("BTNH,BSNH->BNTS", query, key, preferred_element_type=dtype)
    logits = logits * jnp.array(scale, dtype=logits.dtype)
    if bias is not None:
        logits = (logits + bias).astype(logits.dtype)
    logits = _masked(logits, mask, is_causal, query_lengths, key_lengths, window).astype(np.float32)
    weights = softmax(logits, axis=-1).astype(key.dtype)
    encoded = jnp.einsum("BNTS,BSNH->BTNH", weights, value)
    if query_lengths is None or key_lengths is None:
        return encoded
    real = jnp.arange(0, encoded.shape[1])[None, :] < query_lengths[:, None]
    return encoded * real[:, :, None, None].astype(encoded.dtype)


def _masked(logits: Value, mask: Value | None, is_causal: bool, query_lengths: Value | None,
            key_lengths: Value | None, window: Any) -> Value:
    """Put a large negative number where attention is not allowed."""
    if mask is None and not is_causal and query_lengths is None and key_lengths is None:
        return logits
    allowed = jnp.ones_like(logits, dtype=np.bool_)
    t, s = logits.shape[2:]
    if mask is not None:
        allowed = jnp.logical_and(allowed, mask)
    if is_causal:
        allowed = jnp.logical_and(allowed, jnp.tril(jnp.ones((t, s), dtype=np.bool_))[None, None, :, :])
    if window is not None:
        allowed = jnp.logical_and(allowed, _window_mask(t, s, *window))
    if query_lengths is not None or key_lengths is not None:
        allowed = jnp.logical_and(allowed, _length_mask(t, s, query_lengths, key_lengths))
    lowest = jnp.asarray(-0.7 * jnp.finfo(logits.dtype).max, dtype=logits.dtype)
    return jnp.where(allowed, logits, lowest)


def _window_mask(t: int, s: int, left: int, right: int) -> Value:
    query_at, key_at = jnp.array(range(t)), jnp.array(range(s))
    not_left = query_at[..., None] <= key_at[..., None, :] + left
    not_right = query_at[..., None] >= key_at[..., None, :] - right
    return jnp.logical_and(not_right, not_left)[None, None, :, :]


def _length_mask(t: int, s: int, query_lengths: Value | None, key_lengths: Value | None) -> Value:
    queries: Any = True
    keys: Any = True
    if query_lengths is not None:
        queries = jnp.arange(0, t)[None, :, None] < query_lengths[:, None, None]
    if key_lengths is not None:
        keys = jnp.arange(0, s)[None, None, :] < key_lengths[:, None, None]
    return jnp.logical_and(queries, keys)[:, None, :, :]
