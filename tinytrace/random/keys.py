"""Keys: made from a seed, split, folded, wrapped; raw words (`PRNGKey`) and typed keys (`key`) are both accepted."""
from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.config import config
from tinytrace.core.dtypes import KEY_TYPES, KeyType, dtype_of
from tinytrace.core.storage import key_type_of
from tinytrace.lax import convert_element_type
from tinytrace.numpy import asarray
from tinytrace.primitives.random_bits import random_fold_in, random_seed, random_split, random_unwrap, random_wrap


def key(seed: Any, *, impl: Any = None) -> Any:
    """Return the typed key of an integer `seed`.

    Args: impl: the generator, "threefry2x32", "rbg" or "unsafe_rbg"; None: that of the setting `default_prng_impl`.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.key.html.

    >>> key(42)
    Array((), dtype=key<fry>) overlaying:
    [ 0 42]
    """
    return _seeded("key", seed, impl)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:  # noqa: N802  (the name is JAX's)
    """Return the raw key `u32[2]`, of "rbg" and "unsafe_rbg" `u32[4]`, of an integer `seed`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.PRNGKey.html.

    >>> PRNGKey(0)
    Array([0, 0], dtype=uint32)
    """
    typed = _seeded("PRNGKey", seed, impl)
    return typed if config.enable_custom_prng else random_unwrap(typed)


def _seeded(name: str, seed: Any, impl: Any) -> Any:
    tag = _tag(impl)
    if isinstance(getattr(seed, "dtype", None), KeyType):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key")
    if np.ndim(seed):
        raise TypeError(f"{name} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != (). "
                        "Use jax.vmap for batching")
    return key_of_seed(seed, tag)


def key_of_seed(seed: Any, tag: str) -> Any:
    """Return the typed keys of integers, of the generator of this tag."""
    if isinstance(seed, int) and not -(2**63) <= seed < 2**63:
        raise OverflowError("Python int too large to convert to C long")
    return random_seed(_as_seed(seed), tag)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """Return `num` independent new keys.

    Raises: ValueError for an array of keys.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.split.html.

    >>> split(PRNGKey(0))
    Array([[4146024105,  967050713],
           [2718843009, 1272950319]], dtype=uint32)
    """
    typed, was_raw = check_key("split", key)
    return as_given(split_typed(typed, num), was_raw)


def split_typed(key: Any, num: int | Sequence[int] = 2) -> Any:
    """Split one typed key."""
    return random_split(key, tuple(num) if isinstance(num, Sequence) else (operator.index(num),))


def fold_in(key: Any, data: Any) -> Any:
    """Return the key that the integer `data` makes of `key`.

    Raises: ValueError for an array of keys, TypeError for data that is no scalar.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.fold_in.html.
    """
    typed, was_raw = check_key("fold_in", key)
    if np.ndim(data):
        raise TypeError(f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != (). "
                        "Use jax.vmap for batching.")
    word = np.uint32(data) if type(data) is int else convert_element_type(data, np.uint32)
    return as_given(random_fold_in(typed, word), was_raw)


def key_data(keys: Any) -> Any:
    """Return the words of keys: `u32[..., 2]`, of "rbg" and "unsafe_rbg" `u32[..., 4]`."""
    return random_unwrap(check_key("key_data", keys, batched=True)[0])


def wrap_key_data(key_bits_array: Any, *, impl: Any = None) -> Any:
    """Return words `u32[..., 2]`, for "rbg" and "unsafe_rbg" `u32[..., 4]`, as typed keys."""
    return random_wrap(key_bits_array, _tag(impl))


class PRNGSpec:
    """Says which generator keys are of; `key(seed, impl=...)` takes it."""

    __slots__ = ("name", "tag")

    def __init__(self, name: str, tag: str) -> None:
        self.name, self.tag = name, tag

    def __repr__(self) -> str:
        return f"PRNGSpec({self.name!r})"

    def __str__(self) -> str:
        return str(self.tag)

    def __hash__(self) -> int:
        return hash(self.tag)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PRNGSpec) and self.tag == other.tag


def key_impl(keys: Any) -> PRNGSpec:
    """Return the generator of `keys`.

    >>> key_impl(key(0))
    PRNGSpec('threefry2x32')
    """
    typed, _ = check_key("key_impl", keys, batched=True)
    keys = key_type_of(dtype_of(typed))
    return PRNGSpec(keys.generator, keys.impl)


def check_key(name: str, key: Any, batched: bool = False) -> tuple[Any, bool]:
    """Return (typed key, whether it was raw words).

    Raises: TypeError for what is no key, ValueError for several keys where the function `name` wants one.
    """
    dtype = getattr(key, "dtype", None)
    was_raw = not isinstance(dtype, KeyType)
    if was_raw and np.isscalar(key):
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data to have ndim, shape, and dtype "
                        f"attributes. Got {key!s}")
    if was_raw and dtype is None:
        raise TypeError(f"unexpected PRNG key type {type(key)}")
    typed = random_wrap(key, _tag(None)) if was_raw else key
    if was_raw:
        _judge_raw_key()
    if not batched and typed.ndim:
        raise ValueError(f"{name} accepts a single key, but was given a key array of shape {np.shape(key)} != (). "
                         "Use jax.vmap for batching.")
    return typed, was_raw


_RAW = ("Legacy uint32 key array passed as key to jax.random function. Please create keys using jax.random.key(). If "
        'use of a raw key array was intended, set jax_legacy_prng_key="allow".')


def _judge_raw_key() -> None:
    """Raise or warn where the settings say that keys are to be typed."""
    if config.legacy_prng_key == "error":
        raise ValueError(_RAW)
    if config.legacy_prng_key == "warn":
        warnings.warn(_RAW, stacklevel=4)
    elif config.enable_custom_prng:
        warnings.warn("Raw arrays as random keys to jax.random functions are deprecated. Assuming valid threefry2x32 "
                      "key for now.", FutureWarning, stacklevel=4)


def as_given(keys: Any, was_raw: bool) -> Any:
    """Return new keys in the form in which the caller's key came."""
    return random_unwrap(keys) if was_raw else keys


def _as_seed(seed: Any) -> Any:
    """Return a seed that fits: without x64, Python integers beyond 32 bits keep their low word."""
    if isinstance(seed, int):
        if config.enable_x64:
            return asarray(np.int64(seed))
        low = seed & 0xFFFFFFFF
        return asarray(np.int32(low - 2**32 if low >= 2**31 else low))
    return asarray(seed) if isinstance(seed, (str, bytes)) else seed


_TAGS = {key_type_of(dtype).generator: tag for tag, dtype in KEY_TYPES.items()}
"""The tags of the generators, by their names."""


def _tag(impl: Any) -> str:
    """Return the tag of the generator that a caller asks for; None: the default."""
    if isinstance(impl, PRNGSpec):
        return impl.tag
    name = config.default_prng_impl if impl is None else impl
    if not isinstance(name, str):
        raise TypeError(f"unrecognized type {type(impl)} for specifying PRNG implementation.")
    if name not in _TAGS:
        known = ", ".join(f'"{known}"' for known in _TAGS)
        raise ValueError(f'unrecognized PRNG implementation "{name}". Did you mean one of: {known}?')
    return _TAGS[name]
