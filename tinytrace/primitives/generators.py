"""What generators other than plain threefry do with their keys: programs of other operations, as in JAX 0.4.35.

    rbg          splits and folds each half of its four words by threefry; its bits are those of `rng_bit_generator`
    unsafe_rbg   splits and folds by `rng_bit_generator` too
    threefry, partitionable   hashes each position of the result by itself, in place of pairs of positions

Under `vmap` the bits of a batch of keys are those of its first key, one after the other: so does JAX.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tinytrace.core.dtypes import UINT32
from tinytrace.primitives.bitwise import bitwise_or, bitwise_xor, shift_left
from tinytrace.primitives.broadcasting import broadcast_in_dim
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.conversion import convert_element_type
from tinytrace.primitives.creation import full, iota
from tinytrace.primitives.random_bits import (
    PROGRAMS,
    UINTS,
    random_fold_in,
    random_seed,
    random_split,
    random_unwrap,
    random_wrap,
)
from tinytrace.primitives.rng_bit_generator import rng_bit_generator
from tinytrace.primitives.shaping import reshape, transpose
from tinytrace.primitives.slicing import index_in_dim, slice_in_dim

Shape = tuple[int, ...]


def _of_generator(name: str, *tags: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what the operation `name` is for keys of generators."""

    def register(program: Callable[..., Any]) -> Callable[..., Any]:
        for tag in tags:
            PROGRAMS[name, tag] = partial(program, tag) if len(tags) > 1 else program
        return program

    return register


# --- threefry, each position by itself ----------------------------------------------------------------------------

@_of_generator("random_split", "fry")
def _split_by_position(keys: Any, *, shape: Shape) -> Any:
    batch = np.shape(keys)
    positions = reshape(iota(UINT32, math.prod(shape)), shape)
    return random_fold_in(_spread(keys, shape), broadcast_in_dim(positions, (*batch, *shape), range(
        len(batch), len(batch) + len(shape))))


@_of_generator("random_bits", "fry")
def _bits_by_position(keys: Any, *, bit_width: int, shape: Shape) -> Any:
    words = random_unwrap(_split_by_position(keys, shape=shape))
    first, second = (index_in_dim(words, k, -1, keepdims=False) for k in (0, 1))
    dtype = UINTS[bit_width]
    if bit_width == 64:
        high, low = (convert_element_type(x, dtype) for x in (first, second))
        return bitwise_or(shift_left(high, dtype.type(32)), low)
    return convert_element_type(bitwise_xor(first, second), dtype)


# --- rbg and unsafe_rbg -------------------------------------------------------------------------------------------

@_of_generator("random_seed", "rbg", "urbg")
def _seed(tag: str, seed: Any, *, impl: str) -> Any:
    words = random_unwrap(random_seed(seed))
    return random_wrap(concatenate([words, words], np.ndim(words) - 1), tag)


@_of_generator("random_bits", "rbg", "urbg")
def _bits(tag: str, keys: Any, *, bit_width: int, shape: Shape) -> Any:
    return _from_first(random_unwrap(keys), (*np.shape(keys), *shape), bit_width)


@_of_generator("random_split", "rbg")
def _split_halves(keys: Any, *, shape: Shape) -> Any:
    batch = np.shape(keys)
    words = random_unwrap(random_split(_halves(keys), shape))
    half, before, between = len(batch), range(len(batch)), range(len(batch) + 1, len(batch) + 1 + len(shape))
    words = transpose(words, (*before, *between, half, np.ndim(words) - 1))
    return random_wrap(reshape(words, (*batch, *shape, 4)), "rbg")


@_of_generator("random_fold_in", "rbg")
def _fold_in_halves(keys: Any, data: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(keys), np.shape(data))
    halves = _widened(_halves(keys), (*shape, 2))
    words = random_unwrap(random_fold_in(halves, _widened(reshape(data, (*np.shape(data), 1)), (*shape, 2))))
    return random_wrap(reshape(words, (*shape, 4)), "rbg")


@_of_generator("random_split", "urbg")
def _split_by_bits(keys: Any, *, shape: Shape) -> Any:
    shape = (*np.shape(keys), *shape)
    return random_wrap(_tenth(random_unwrap(keys), shape, 0), "urbg")


@_of_generator("random_fold_in", "urbg")
def _fold_in_by_bits(keys: Any, data: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(keys), np.shape(data))
    hashed = _tenth(random_unwrap(random_seed(data, "urbg")), np.shape(data), 9)
    words = bitwise_xor(_widened(random_unwrap(keys), (*shape, 4)), _widened(hashed, (*shape, 4)))
    return random_wrap(words, "urbg")


def _tenth(states: Any, shape: Shape, start: int) -> Any:
    """Return four words for each place of `shape`: ten times as many are made, which is taken for a hash."""
    words = _from_first(states, (math.prod(shape) * 10, 4), 32)
    return reshape(slice_in_dim(words, start, None, 10), (*shape, 4))


def _from_first(states: Any, shape: Shape, bit_width: int) -> Any:
    """Return bits from the first of states u32[..., 4]."""
    if not math.prod(shape):
        return full(shape, 0, UINTS[bit_width])
    first = index_in_dim(reshape(states, (math.prod(np.shape(states)) // 4, 4)), 0, keepdims=False)
    return rng_bit_generator(first, shape, UINTS[bit_width])[1]


def _halves(keys: Any) -> Any:
    """Return keys of four words as pairs of threefry's keys."""
    return random_wrap(reshape(random_unwrap(keys), (*np.shape(keys), 2, 2)))


def _spread(keys: Any, shape: Shape) -> Any:
    """Return each key as often as `shape` says, in axes behind the keys'."""
    batch = np.shape(keys)
    return broadcast_in_dim(keys, (*batch, *shape), range(len(batch)))


def _widened(x: Any, shape: Shape) -> Any:
    """Return `x` broadcast to `shape`."""
    return broadcast_in_dim(x, shape, range(len(shape) - np.ndim(x), len(shape)))
