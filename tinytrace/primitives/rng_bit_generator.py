"""`lax.rng_bit_generator`: random bits as XLA's operation of that name makes them on the CPU, bit for bit.

The C is csrc/math/rng_bits.h. XLA's default on the CPU is Philox.
"""
from __future__ import annotations

import builtins
import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray, canonicalize_shape
from tinytrace.core.dtypes import UINT32, DType, canonicalize_dtype
from tinytrace.core.formulas import call_named, cast, place
from tinytrace.core.kinds import Kind, Routine
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.primitives.broadcasting import squeeze
from tinytrace.primitives.checks import check_shapelike
from tinytrace.primitives.dynamic_slicing import dynamic_update_index_in_dim
from tinytrace.primitives.random_bits import UINTS, threefry
from tinytrace.primitives.shaping import NDArray, moveaxis
from tinytrace.primitives.slicing import slice

_NO_TANGENT = "random bits have no tangent"
_WORD, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


class RandomAlgorithm(enum.IntEnum):
    """Which generator `rng_bit_generator` uses."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


def rng_bit_generator(key: Any, shape: Any, dtype: Any = np.uint32,
                      algorithm: RandomAlgorithm = RandomAlgorithm.RNG_DEFAULT) -> Any:
    """Return the state after it, and uniform random bits of `shape`.

    Args: key: a state, u32[4]; dtype: an unsigned integer type.
    Raises: TypeError for another type.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.rng_bit_generator.html.

    >>> rng_bit_generator(np.array([1, 2, 3, 4], np.uint32), (2,))
    (Array([1, 2, 4, 4], dtype=uint32), Array([ 512747620, 1298009047], dtype=uint32))
    """
    dtype = canonicalize_dtype(dtype)
    if dtype not in UINTS.values():
        raise TypeError(f"rng_bit_generator: unsupported dtype {dtype}")
    return tuple(rng_bit_generator_p.bind(key, shape=canonicalize_shape(shape), dtype=dtype, algorithm=algorithm))


class RngBitGenerator(Primitive):
    """`rng_bit_generator[algorithm=RNG_DEFAULT dtype=uint32 shape=(3,)] state: u32[4]` is u32[4], u32[3]."""

    name = "rng_bit_generator"
    multiple_results = True

    def parse_params(self, shown: dict[str, Any]) -> dict[str, Any]:
        return {**shown, "algorithm": RandomAlgorithm[str(shown["algorithm"])], "dtype": np.dtype(str(shown["dtype"]))}

    def abstract_eval(self, state: ShapedArray, *, shape: tuple[int, ...], dtype: DType,
                      algorithm: RandomAlgorithm) -> list[ShapedArray]:
        check_shapelike(self.name, "shape", shape)
        if (state.shape, state.dtype) not in (((4,), UINT32), ((2,), np.dtype(np.uint64))):
            raise TypeError(f"rng_bit_generator takes a state of type uint32[4] or uint64[2], got {state.str_short()}. "
                            "jax.random.PRNGKey(seed, impl='rbg') makes one.")
        return [state, ShapedArray(shape, dtype)]

    def impl(self, state: NDArray, *, shape: tuple[int, ...], dtype: DType,
             algorithm: RandomAlgorithm) -> list[NDArray]:
        key, start = np.ascontiguousarray(state).view(np.uint64)
        if algorithm == RandomAlgorithm.RNG_THREE_FRY:
            blocks, bits = _by_threefry(key, start, shape, dtype)
        else:
            n = math.prod(shape)
            blocks = -(-n // (2 if dtype.itemsize == 8 else 4))
            words = _philox(key, start, blocks).reshape(-1)
            bits = (words.view(np.uint64) if dtype.itemsize == 8 else words)[:n].reshape(shape)
        with np.errstate(over="ignore"):
            after = np.array([key, start + np.uint64(blocks)]).view(state.dtype)
        return [after, bits.astype(dtype)]

    jvp = refuse(_NO_TANGENT)
    transpose = refuse(_NO_TANGENT)

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        # As in JAX: the bits of the whole batch are those of its first state.
        (states,), (dim,) = args, dims
        assert dim is not None
        states = moveaxis(states, dim, 0)
        shape = (np.shape(states)[0], *params.pop("shape"))
        first = squeeze(slice(states, (0, 0), (1, np.shape(states)[1])), (0,))
        after, bits = self.bind(first, shape=shape, **params)
        return [dynamic_update_index_in_dim(states, after, 0, 0), bits], [0, 0]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, shape: tuple[int, ...],
              dtype: DType, algorithm: RandomAlgorithm) -> Kind:
        to_fill = place("in0"), place("out0"), cast("uint8_t *", place("out1"))
        if algorithm == RandomAlgorithm.RNG_THREE_FRY:
            axis = _split_axis(shape)
            sizes = math.prod(shape[:axis]), math.prod(shape[axis:axis + 1]), math.prod(shape[axis + 1:])
            return Routine((call_named("tt_threefry_bits", *to_fill, *sizes, dtype.itemsize),))
        return Routine((call_named("tt_philox_bits", *to_fill, math.prod(shape), dtype.itemsize),))


rng_bit_generator_p = RngBitGenerator()


def _philox(key: np.uint64, start: np.uint64, blocks: int) -> NDArray:
    """Return the words u32[blocks, 4] of the blocks from `start` on."""
    with np.errstate(over="ignore"):
        low = start + np.arange(blocks, dtype=np.uint64)
        high = key + (low < start)
        x = [low & _WORD, low >> _HALF, high & _WORD, high >> _HALF]
        k0, k1 = key & _WORD, key >> _HALF
        for _ in range(10):
            p, q = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
            x = [q >> _HALF ^ x[1] ^ k0, q & _WORD, p >> _HALF ^ x[3] ^ k1, p & _WORD]
            k0, k1 = k0 + np.uint64(0x9E3779B9) & _WORD, k1 + np.uint64(0xBB67AE85) & _WORD
    return np.stack(x, -1).astype(np.uint32)


def _by_threefry(key: np.uint64, start: np.uint64, shape: tuple[int, ...], dtype: DType) -> tuple[int, NDArray]:
    """Return how many blocks there are, and the bits."""
    axis, halves = _split_axis(shape), list(shape) or [1]
    if dtype.itemsize < 8:
        halves[axis] = -(-halves[axis] // 2)
    blocks = math.prod(halves)
    with np.errstate(over="ignore"):
        counters = start + np.arange(blocks, dtype=np.uint64)
        words = threefry(np.asarray(key), (counters & _WORD).astype(np.uint32), (counters >> _HALF).astype(np.uint32))
    if dtype.itemsize == 8:
        return blocks, np.stack(words, -1).view(np.uint64).reshape(shape)
    both = np.stack([x.reshape(halves) for x in words], axis + 1)
    halves[axis] *= 2
    return blocks, both.reshape(halves)[tuple(map(builtins.slice, shape or (1,)))].reshape(shape)


def _split_axis(shape: tuple[int, ...]) -> int:
    """Return the axis along which neighbours are of one block: the first of even size, else the largest."""
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    return even[0] if even else int(np.argmax(shape or (1,)))
