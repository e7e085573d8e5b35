"""`jax.extend.random`: generators of random bits: those of `jax.random`, on words, and one's own.

    mine = define_prng_impl(key_shape=(1,), seed=..., split=..., random_bits=..., fold_in=..., name="mine", tag="my")
    jax.random.normal(jax.random.key(0, impl=mine))

A generator is four functions on keys as words, written over jnp; all else of `jax.random` is made of them. Source:
`jax.extend.random` of JAX 0.4.35.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinytrace.numpy as jnp
from tinytrace.api.vmapping import vmap
from tinytrace.core.dtypes import KEY_TYPES, KeyType
from tinytrace.extend.threefry import threefry2x32_p as threefry2x32_p
from tinytrace.extend.threefry import threefry_2x32 as threefry_2x32
from tinytrace.primitives import random_bits as key_operations
from tinytrace.random.keys import PRNGSpec, key_of_seed
from tinytrace.records import NamedTuple
from tinytrace.util import lazy_names

_OF_INSIDES = "random_bits_p random_fold_in_p random_seed_p random_split_p random_unwrap_p random_wrap_p"
__getattr__ = lazy_names("tinytrace", dict.fromkeys(_OF_INSIDES.split(), "primitives.random_bits"), __name__)
"""`jax._src.prng` has these too."""
Shape = Sequence[int]


class PRNGImpl(NamedTuple):
    """A generator: `seed(int[]) -> K`, `split(K, shape) -> K[*shape]`, `random_bits(K, bit_width, shape)` and
    `fold_in(K, int[]) -> K`, where K is words u32[*key_shape]; its name, and its tag in the texts of types."""

    key_shape: tuple[int, ...]
    seed: Callable[..., Any]
    split: Callable[..., Any]
    random_bits: Callable[..., Any]
    fold_in: Callable[..., Any]
    name: str = "<unnamed>"
    tag: str = "?"

    def __hash__(self) -> int:
        return hash(str(self.tag))

    def __str__(self) -> str:
        return str(self.tag)


class _Tag(str):
    """The tag of one's own generator, which is no other's, though it may read the same."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)


def define_prng_impl(*, key_shape: Shape, seed: Callable[..., Any], split: Callable[..., Any],
                     random_bits: Callable[..., Any], fold_in: Callable[..., Any], name: str = "<unnamed>",
                     tag: str = "?") -> PRNGSpec:
    """Return one's own generator, for `jax.random.key(seed, impl=...)` and `wrap_key_data`; see `PRNGImpl`.

    Raises: NotImplementedError for keys of other than two or four words, TypeError for what is no function.

    >>> from tinytrace import random
    >>> counting = define_prng_impl(
    ...     key_shape=(2,), seed=lambda seed: jnp.stack([jnp.uint32(seed), jnp.uint32(1)]),
    ...     split=lambda key, shape: key + jnp.arange(2 * math.prod(shape), dtype="uint32").reshape(*shape, 2),
    ...     random_bits=lambda key, width, shape: jnp.full(shape, key[0], f"uint{width}"),
    ...     fold_in=lambda key, data: key + data, name="counting", tag="count")
    >>> random.bits(random.key(7, impl=counting), (2,))
    Array([7, 7], dtype=uint32)
    """
    if math.prod(key_shape) not in (2, 4) or not key_shape:
        raise NotImplementedError(f"define_prng_impl: keys of shape {tuple(key_shape)}: a key has two or four words "
                                  "of 32 bits here, such as key_shape=(2,), (4,) or (2, 2); leave one unused")
    for what, function in (("seed", seed), ("split", split), ("random_bits", random_bits), ("fold_in", fold_in)):
        if not callable(function):
            raise TypeError(f"define_prng_impl: {what} must be a function on words, not {function!r}")
    return PRNGSpec(name, _tag_of(PRNGImpl(tuple(key_shape), seed, split, random_bits, fold_in, name, _Tag(tag))))


def _tag_of(impl: PRNGImpl) -> str:
    """Return the tag by which the operations on keys know a generator; one that is new is made known."""
    if impl in _tags:
        return _tags[impl]
    own = _Tag(impl.tag)
    KEY_TYPES[own] = _key_type(own, impl.name, impl.key_shape)
    for operation, program in _programs(impl._replace(tag=own)).items():
        key_operations.PROGRAMS[operation, own] = program
    return _tags.setdefault(impl, own)


_tags: dict[PRNGImpl, str] = {}


def _key_type(tag: _Tag, name: str, key_shape: tuple[int, ...]) -> Any:
    """Return the type of keys: in memory they are of no other generator's type."""
    words = math.prod(key_shape)
    keys = KeyType(tag, name, words, key_shape)
    keys.storage = np.dtype([(f"{tag} {id(tag)}", np.uint32, (words,))], metadata={"tag": tag})
    return keys


def _programs(impl: PRNGImpl) -> dict[str, Callable[..., Any]]:
    """Return what the operations on keys are: the functions of the generator, for every key of an array."""
    def words_of(keys: Any) -> Any:
        return key_operations.random_unwrap(keys)

    def wrapped(words: Any) -> Any:
        return key_operations.random_wrap(words, impl.tag)

    of_words = impl

    def seed(seeds: Any, *, impl: str) -> Any:
        return wrapped(_over(np.ndim(seeds), of_words.seed)(seeds))

    def split(keys: Any, *, shape: Shape) -> Any:
        return wrapped(_over(np.ndim(keys), lambda key: impl.split(key, shape))(words_of(keys)))

    def fold_in(keys: Any, data: Any) -> Any:
        shape = np.broadcast_shapes(np.shape(keys), np.shape(data))
        words = jnp.broadcast_to(words_of(keys), (*shape, *impl.key_shape))
        return wrapped(_over(len(shape), impl.fold_in)(words, jnp.broadcast_to(data, shape)))

    def bits(keys: Any, *, bit_width: int, shape: Shape) -> Any:
        return _over(np.ndim(keys), lambda key: impl.random_bits(key, bit_width, shape))(words_of(keys))

    return {"random_seed": seed, "random_split": split, "random_fold_in": fold_in, "random_bits": bits}


def _over(ndim: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function mapped over so many leading axes."""
    for _ in range(ndim):
        function = vmap(function)
    return function


# --- the generators of `jax.random` ------------------------------------------------------------------------------

def _known(name: str, tag: str) -> PRNGImpl:
    def words(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda key, *args: key_operations.random_unwrap(function(key_operations.random_wrap(key, tag), *args))

    return PRNGImpl(
        (KEY_TYPES[tag].words,),  # type: ignore[attr-defined]
        lambda seed: key_operations.random_unwrap(key_operations.random_seed(seed, tag)),
        words(lambda key, shape: key_operations.random_split(key, tuple(shape))),
        lambda key, width, shape: key_operations.random_bits(key_operations.random_wrap(key, tag), width, tuple(shape)),
        words(lambda key, data: key_operations.random_fold_in(key, jnp.asarray(data).astype(np.uint32))), name, tag)


threefry_prng_impl = _known("threefry2x32", "fry")
rbg_prng_impl = _known("rbg", "rbg")
unsafe_rbg_prng_impl = _known("unsafe_rbg", "urbg")
threefry_seed, threefry_split = threefry_prng_impl.seed, threefry_prng_impl.split
threefry_random_bits, threefry_fold_in = threefry_prng_impl.random_bits, threefry_prng_impl.fold_in
_tags.update({impl: impl.tag for impl in (threefry_prng_impl, rbg_prng_impl, unsafe_rbg_prng_impl)})


def random_seed(seeds: Any, impl: PRNGImpl) -> Any:
    """Return the typed keys of integers, of a generator of this module.

    >>> random_seed(3, threefry_prng_impl)
    Array((), dtype=key<fry>) overlaying:
    [0 3]
    """
    if not isinstance(impl, PRNGImpl | PRNGSpec):
        raise TypeError(f"random_seed takes a generator of jax.extend.random, such as threefry_prng_impl, not {impl!r}")
    return key_of_seed(seeds, impl.tag if isinstance(impl, PRNGSpec) else _tag_of(impl))


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
    """Return the typed key of an integer: `random_seed(seed, impl)`."""
    return random_seed(seed, impl)
