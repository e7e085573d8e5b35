"""Random keys and random bits: threefry-2x32 as JAX 0.4.35 uses it (its non-partitionable form), bit for bit.

A key of type `key<fry>` is two 32-bit words in one element of eight bytes, the first word in the low half; wrapping
raw words into a key and unwrapping them again changes the type and no byte. The C of the hash is csrc/math/threefry.h.
What the other generators do with their keys are programs of these operations, in `generators.py`.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tinytrace.config import config
from tinytrace.core.array import array_from_numpy
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import KEY_TYPES, UINT32, DType, KeyType, is_integer
from tinytrace.core.formulas import call_named, cast, operand, place
from tinytrace.core.kinds import Call, Kind, Routine, Scalar
from tinytrace.core.operations import operation
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.storage import key_type_of
from tinytrace.primitives.broadcasting import broadcast_in_dim
from tinytrace.primitives.checks import check_shapelike
from tinytrace.primitives.composite import interpreted, recorded
from tinytrace.primitives.shaping import NDArray, moveaxis

UINTS: dict[int, DType] = {8: np.dtype(np.uint8), 16: np.dtype(np.uint16), 32: UINT32, 64: np.dtype(np.uint64)}
_NO_TANGENT = "random bits have no tangent"


def threefry(key: NDArray, x0: NDArray, x1: NDArray) -> tuple[NDArray, NDArray]:
    """Return the two words that hash the counters (`x0`, `x1`: u32[...]) under `key: u64[...]`.

    Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
    """
    return threefry_rounds(key.astype(np.uint32), (key >> np.uint64(32)).astype(np.uint32), x0, x1)


def threefry_rounds(k0: Any, k1: Any, x0: Any, x1: Any) -> tuple[Any, Any]:
    """Return the two words that twenty rounds make of (`x0`, `x1`) under (`k0`, `k1`): u32[...], of NumPy or `jnp`."""
    words = (k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA))
    x0, x1 = x0 + words[0], x1 + words[1]
    for i in range(5):
        for left in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(left) | x1 >> np.uint32(32 - left)) ^ x0
        x0, x1 = x0 + words[(i + 1) % 3], x1 + words[(i + 2) % 3] + np.uint32(i + 1)
    return x0, x1


def random_words(keys: NDArray, n: int) -> NDArray:
    """Return `n` random words per key: u32[..., n]."""
    counters = np.zeros(n + n % 2, np.uint32)
    counters[:n] = np.arange(n, dtype=np.uint32)
    first, second = np.split(counters, 2)
    return np.concatenate(threefry(keys[..., None], first, second), -1)[..., :n]


PROGRAMS: dict[tuple[str, str], Callable[..., Any]] = {}
"""By operation and tag of the generator: what is a program of other operations. `generators.py` fills it."""


class KeyOperation(Primitive):
    """The family: `impl` and `lower` of each generator but threefry are a program of other operations."""

    composite = True

    def impl(self, *args: NDArray, **params: Any) -> NDArray:
        first, *others = args
        tag = params.get("impl") or key_type_of(first.dtype).impl
        program = self.program(tag)
        if not program:
            return self.by_threefry(*args, **params)
        taken = first if "impl" in params else array_from_numpy(first, ShapedArray(first.shape, KEY_TYPES[tag]))
        return interpreted(program, taken, *others, **params)

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], **params: Any) -> Kind:
        tag = params.get("impl") or key_type_of(in_avals[0].dtype).impl
        program = self.program(tag)
        if program:
            return Call(recorded(partial(program, **params), in_avals))
        return self.threefry_in_c(in_avals, out_avals, **params)

    def program(self, tag: str) -> Callable[..., Any] | None:
        """Return the program of this operation for keys of a generator; None: it is threefry's own."""
        if tag == "fry" and not config.threefry_partitionable:
            return None
        return PROGRAMS.get((self.name, tag))

    def by_threefry(self, *args: Any, **params: Any) -> NDArray:
        """Return what `impl` returns, for keys of threefry."""
        raise NotImplementedError(self.name)

    def threefry_in_c(self, *args: Any, **params: Any) -> Kind:
        """Return what `lower` answers, for keys of threefry."""
        raise NotImplementedError(self.name)


class RandomSeed(KeyOperation):
    """`random_seed[impl=fry] seed: i32[]` is key<fry>[]: the key whose words are the seed's halves."""

    name = "random_seed"

    def parse_params(self, shown: dict[str, Any]) -> dict[str, Any]:
        return {"impl": str(shown["impl"])}

    def abstract_eval(self, seed: ShapedArray, *, impl: str) -> ShapedArray:
        if not is_integer(seed.dtype):
            raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
        return ShapedArray(seed.shape, KEY_TYPES[impl])

    def by_threefry(self, seed: NDArray, *, impl: str) -> NDArray:
        high, low = _seed_words(seed)
        return low << np.uint64(32) | high

    jvp = refuse(_NO_TANGENT)
    transpose = refuse(_NO_TANGENT)

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, impl: str) -> tuple[Any, Any]:
        return self.bind(*args, impl=impl), dims[0]

    def threefry_in_c(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, impl: str) -> Kind:
        dtype = in_avals[0].dtype
        x = operand(0, dtype)
        words = cast("uint64_t", cast("uint32_t", x)) << 32
        if dtype.itemsize == 8:
            words = words | cast("uint32_t", cast("uint64_t", x) >> 32)
        return Scalar(operation(self.name, (dtype,), out_avals[0].dtype, words, self.in_numpy({"impl": impl}), 0))


class RandomWrap(Primitive):
    """`random_wrap[impl=fry] words: u32[n,2]` is key<fry>[n]."""

    name = "random_wrap"

    def parse_params(self, shown: dict[str, Any]) -> dict[str, Any]:
        return {"impl": str(shown["impl"])}

    def abstract_eval(self, words: ShapedArray, *, impl: str) -> ShapedArray:
        invalid = "JAX encountered invalid PRNG key data: expected "
        keys = KEY_TYPES[impl]
        key_shape = key_type_of(keys).key_shape
        if words.ndim < len(key_shape):
            raise TypeError(f"{invalid}key_data.ndim >= {len(key_shape)}; got ndim={words.ndim}")
        if words.shape[-len(key_shape):] != key_shape:
            raise TypeError(f"{invalid}key_data.shape to end with {key_shape}; got shape={words.shape} for impl={impl}")
        if words.dtype != UINT32:
            raise TypeError(invalid + f"key_data.dtype = uint32; got dtype={words.dtype.name}")
        return ShapedArray(words.shape[:-len(key_shape)], keys)

    def impl(self, words: NDArray, *, impl: str) -> NDArray:
        keys = key_type_of(KEY_TYPES[impl])
        shape = words.shape[:-len(keys.key_shape)]
        return np.ascontiguousarray(words).reshape(*shape, keys.words).view(keys.storage).reshape(shape)

    jvp = refuse(_NO_TANGENT)
    transpose = refuse(_NO_TANGENT)

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, impl: str) -> tuple[Any, Any]:
        (words,), (dim,) = args, dims
        assert dim is not None
        if dim >= np.ndim(words) - len(key_type_of(KEY_TYPES[impl]).key_shape):
            words, dim = moveaxis(words, dim, 0), 0
        return self.bind(words, impl=impl), dim

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, impl: str) -> Kind:
        return _copy_bytes(out_avals[0])


class RandomUnwrap(Primitive):
    """`random_unwrap keys: key<fry>[n]` is u32[n,2]."""

    name = "random_unwrap"

    def abstract_eval(self, keys: ShapedArray) -> ShapedArray:
        _check_keys(keys, self.name)
        return ShapedArray((*keys.shape, *key_type_of(keys.dtype).key_shape), UINT32)

    def impl(self, keys: NDArray) -> NDArray:
        words = np.ascontiguousarray(keys).reshape(-1).view(np.uint32)
        return words.reshape(*keys.shape, *key_type_of(keys.dtype).key_shape)

    jvp = refuse(_NO_TANGENT)
    transpose = refuse(_NO_TANGENT)

    def batch(self, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, Any]:
        return self.bind(*args), dims[0]

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> Kind:
        return _copy_bytes(in_avals[0])


class RandomSplit(KeyOperation):
    """`random_split[shape=(2,)] keys: key<fry>[n]` is key<fry>[n,2]."""

    name = "random_split"

    def abstract_eval(self, keys: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
        check_shapelike(self.name, "shape", shape)
        _check_keys(keys, self.name)
        return keys.update(shape=(*keys.shape, *shape))

    def by_threefry(self, keys: NDArray, *, shape: tuple[int, ...]) -> NDArray:
        words = random_words(keys, 2 * math.prod(shape))
        return np.ascontiguousarray(words).view(np.uint64).reshape((*keys.shape, *shape))

    jvp = refuse(_NO_TANGENT)
    transpose = refuse(_NO_TANGENT)

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, shape: tuple[int, ...]) -> tuple[Any, Any]:
        return self.bind(*args, shape=shape), dims[0]

    def threefry_in_c(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
                      shape: tuple[int, ...]) -> Kind:
        n = 2 * math.prod(shape)
        words = cast("uint32_t *", place("out0"))
        return Routine((call_named("tt_random_words", place("in0"), words, in_avals[0].size, n),))


class RandomFoldIn(KeyOperation):
    """`random_fold_in keys: key<fry>[n] data: u32[n]` is key<fry>[n]: the keys that the data make of the keys."""

    name = "random_fold_in"

    def abstract_eval(self, keys: ShapedArray, data: ShapedArray) -> ShapedArray:
        _check_keys(keys, self.name)
        return keys.update(shape=np.broadcast_shapes(keys.shape, data.shape))

    def by_threefry(self, keys: NDArray, data: NDArray) -> NDArray:
        high, low = _seed_words(data)
        x0, x1 = threefry(keys, high.astype(np.uint32), low.astype(np.uint32))
        return x1.astype(np.uint64) << np.uint64(32) | x0

    jvp = refuse(_NO_TANGENT)
    transpose = refuse(_NO_TANGENT)

    def batch(self, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, Any]:
        arrays = {(np.shape(x), d) for x, d in zip(args, dims, strict=True) if np.ndim(x)}
        if len(arrays) == 1:
            return self.bind(*args), arrays.pop()[1]
        rank = max(np.ndim(x) - (d is not None) for x, d in zip(args, dims, strict=True))
        return self.bind(*(_batch_in_front(x, d, rank) for x, d in zip(args, dims, strict=True))), 0

    def threefry_in_c(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> Kind:
        shapes = {aval.shape for aval in in_avals if aval.shape}
        if len(shapes) > 1:
            return Call(recorded(partial(_fold_in_repeated, shape=out_avals[0].shape), in_avals))
        dtypes = in_avals[0].dtype, in_avals[1].dtype
        keys, data = (operand(k, dtype) for k, dtype in enumerate(dtypes))
        folded = call_named("tt_threefry_fold", keys, cast("uint64_t" if dtypes[1].itemsize == 8 else "uint32_t", data))
        return Scalar(operation(self.name, dtypes, out_avals[0].dtype, folded, self.by_threefry, 0))


PAIRS = 1 << 12
"""How many pairs of words one key makes in one call: threads share the calls."""
FLOPS_OF_A_PAIR = 80
"""Additions, rotations and exclusive ors of integers."""


class RandomBits(KeyOperation):
    """`random_bits[bit_width=32 shape=(3,)] keys: key<fry>[n]` is u32[n,3]."""

    name = "random_bits"

    def abstract_eval(self, keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...]) -> ShapedArray:
        check_shapelike(self.name, "shape", shape)
        _check_keys(keys, self.name)
        return ShapedArray((*keys.shape, *shape), UINTS[bit_width])

    def by_threefry(self, keys: NDArray, *, bit_width: int, shape: tuple[int, ...]) -> NDArray:
        n = math.prod(shape)
        if bit_width == 64:
            high, low = np.split(random_words(keys, 2 * n), 2, -1)
            bits = high.astype(np.uint64) << np.uint64(32) | low
        else:
            words = np.ascontiguousarray(random_words(keys, -(-n * bit_width // 32)))
            bits = words.view(UINTS[bit_width])[..., :n]
        result: NDArray = bits.reshape((*keys.shape, *shape))
        return result

    jvp = refuse(_NO_TANGENT)
    transpose = refuse(_NO_TANGENT)

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, bit_width: int,
              shape: tuple[int, ...]) -> tuple[Any, Any]:
        return self.bind(*args, bit_width=bit_width, shape=shape), dims[0]

    def threefry_in_c(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, bit_width: int,
                      shape: tuple[int, ...]) -> Kind:
        keys, n = in_avals[0].size, math.prod(shape)
        named = {32: "tt_random_piece", 64: "tt_random_wide_piece"}.get(bit_width, "")
        pieces = -(-n * bit_width // (64 * PAIRS))
        if keys == 1 and named and pieces > 1:
            call = call_named(named, place("in0"), place("out0"), place("piece"), n, PAIRS)
            return Routine((call,), pieces=pieces, piece=PAIRS, flops=FLOPS_OF_A_PAIR * PAIRS)
        if bit_width == 32:
            return Routine((call_named("tt_random_words", place("in0"), place("out0"), keys, n),))
        if bit_width == 64:
            return Routine((call_named("tt_random_wide", place("in0"), place("out0"), keys, n),))
        bytes_ = cast("uint8_t *", place("out0"))
        return Routine((call_named("tt_random_narrow", place("in0"), bytes_, keys, n, bit_width // 8),))


random_seed_p = RandomSeed()
random_wrap_p = RandomWrap()
random_unwrap_p = RandomUnwrap()
random_split_p = RandomSplit()
random_fold_in_p = RandomFoldIn()
random_bits_p = RandomBits()


def random_seed(seed: Any, impl: str = "fry") -> Any:
    """Return the key of an integer seed; `impl` is the generator's tag."""
    return random_seed_p.bind(seed, impl=impl)


def random_wrap(words: Any, impl: str = "fry") -> Any:
    """Return raw words `u32[..., n]`, of which each key has n, as keys."""
    return random_wrap_p.bind(words, impl=impl)


def random_unwrap(keys: Any) -> Any:
    """Return keys as raw words `u32[..., n]`, of which each key has n."""
    return random_unwrap_p.bind(keys)


def random_split(keys: Any, shape: tuple[int, ...]) -> Any:
    """Return `shape` new keys for each of `keys`."""
    return random_split_p.bind(keys, shape=shape)


def random_fold_in(keys: Any, data: Any) -> Any:
    """Return the keys that `data` makes of `keys`."""
    return random_fold_in_p.bind(keys, data)


def random_bits(keys: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Return random unsigned integers of `bit_width` bits, `shape` of them for each of `keys`."""
    return random_bits_p.bind(keys, bit_width=bit_width, shape=shape)


def _seed_words(seed: NDArray) -> tuple[NDArray, NDArray]:
    """Return the high and low 32 bits of an integer, each as u64."""
    bits = seed.astype(np.uint64) if seed.dtype.itemsize == 8 else seed.astype(np.uint32).astype(np.uint64)
    return bits >> np.uint64(32), bits & np.uint64(0xFFFFFFFF)


def _check_keys(keys: ShapedArray, name: str) -> None:
    if not isinstance(keys.dtype, KeyType):
        raise TypeError(f"{name} takes typed PRNG keys, got {keys.str_short()}. Use jax.random.wrap_key_data for raw "
                        "words.")


def _copy_bytes(aval: ShapedArray) -> Routine:
    return Routine((call_named("__builtin_memcpy", place("out0"), place("in0"), aval.nbytes),))


def _fold_in_repeated(keys: Any, data: Any, *, shape: tuple[int, ...]) -> Any:
    return random_fold_in(*(broadcast_in_dim(x, shape, range(len(shape) - np.ndim(x), len(shape)))
                            for x in (keys, data)))


def _batch_in_front(x: Any, dim: int | None, rank: int) -> Any:
    """Return `x` with the batch axis first, of size 1 if it has none, and `rank` axes behind it; numbers stay."""
    if dim is None:
        return broadcast_in_dim(x, (1, *np.shape(x)), tuple(range(1, np.ndim(x) + 1))) if np.ndim(x) else x
    x = moveaxis(x, dim, 0)
    missing = rank - (np.ndim(x) - 1)
    if not missing:
        return x
    shape = (np.shape(x)[0], *[1] * missing, *np.shape(x)[1:])
    return broadcast_in_dim(x, shape, (0, *range(1 + missing, len(shape))))
