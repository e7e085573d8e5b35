"""Keys: made from a seed, split, folded, wrapped; raw words (`PRNGKey`) and typed keys (`key`) are both accepted."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.dtypes import KeyType
from tinytrace.lax import convert_element_type
from tinytrace.numpy import asarray
from tinytrace.primitives.random_bits import random_fold_in, random_seed, random_split, random_unwrap, random_wrap


def key(seed: Any, *, impl: Any = None) -> Any:
    """Return the typed key of an integer `seed`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.key.html.

    >>> key(42)
    Array((), dtype=key<fry>) overlaying:
    [ 0 42]
    """
    return _seeded("key", seed, impl)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:  # noqa: N802  (the name is JAX's)
    """Return the raw key `u32[2]` of an integer `seed`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.PRNGKey.html.

    >>> PRNGKey(0)
    Array([0, 0], dtype=uint32)
    """
    return random_unwrap(_seeded("PRNGKey", seed, impl))


def _seeded(name: str, seed: Any, impl: Any) -> Any:
    _check_impl(impl)
    if isinstance(getattr(seed, "dtype", None), KeyType):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key")
    if np.ndim(seed):
        raise TypeError(f"{name} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != (). "
                        "Use jax.vmap for batching")
    if isinstance(seed, int) and not -(2**63) <= seed < 2**63:
        raise OverflowError("Python int too large to convert to C long")
    return random_seed(_as_seed(seed))


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
    """Return the words `u32[..., 2]` of keys."""
    return random_unwrap(check_key("key_data", keys, batched=True)[0])


def wrap_key_data(key_bits_array: Any, *, impl: Any = None) -> Any:
    """Return words `u32[..., 2]` as typed keys."""
    _check_impl(impl)
    return random_wrap(key_bits_array)


class PRNGSpec:
    """Says which generator keys are of; `key(seed, impl=...)` takes it."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"PRNGSpec({self._name!r})"

    def __str__(self) -> str:
        return "fry"

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PRNGSpec) and self._name == other._name


def key_impl(keys: Any) -> PRNGSpec:
    """Return the generator of `keys`: there is one.

    >>> key_impl(key(0))
    PRNGSpec('threefry2x32')
    """
    check_key("key_impl", keys, batched=True)
    return PRNGSpec("threefry2x32")


def clone(key: Any) -> Any:
    """Return the same key, to be used again on purpose."""
    return key


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
    typed = random_wrap(key) if was_raw else key
    if np.ndim(typed) and not batched:
        raise ValueError(f"{name} accepts a single key, but was given a key array of shape {np.shape(key)} != (). "
                         "Use jax.vmap for batching.")
    return typed, was_raw


def as_given(keys: Any, was_raw: bool) -> Any:
    """Return new keys in the form in which the caller's key came."""
    return random_unwrap(keys) if was_raw else keys


def _as_seed(seed: Any) -> Any:
    """Return a seed that fits: Python integers beyond 32 bits keep their low word, as without x64 in JAX."""
    if isinstance(seed, int):
        low = seed & 0xFFFFFFFF
        return asarray(np.int32(low - 2**32 if low >= 2**31 else low))
    return asarray(seed) if isinstance(seed, (str, bytes)) else seed


def _check_impl(impl: Any) -> None:
    if impl is not None and not isinstance(impl, (str, PRNGSpec)):
        raise TypeError(f"unrecognized type {type(impl)} for specifying PRNG implementation.")
    if isinstance(impl, str) and impl != "threefry2x32":
        raise ValueError(f'unrecognized PRNG implementation "{impl}". Did you mean one of: "threefry2x32"?')
