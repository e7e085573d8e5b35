"""Samples of the distributions that tutorials use; streams are those of JAX 0.4.35, bit for bit.

Each public function checks its arguments; the work is in a jitted function of the same name with an underscore, which
is what jaxprs show. Source: https://jax.readthedocs.io/en/latest/jax.random.html.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace import numpy as jnp
from tinytrace.api.jit import jit
from tinytrace.config import numpy_rank_promotion
from tinytrace.core.avals import canonicalize_shape
from tinytrace.core.dtypes import DType, canonicalize_dtype, is_complex, is_float, is_integer, is_unsigned, part_dtype
from tinytrace.core.storage_types import SMALL_INTEGERS
from tinytrace.numpy.promotion import canonicalize_axis, check_arraylike
from tinytrace.primitives.random_bits import random_bits
from tinytrace.random.arguments import (
    Shape,
    check_broadcast,
    float_dtype,
    given_dtype,
    optional_shape,
    sample_shape,
    user_dtype,
)
from tinytrace.random.keys import check_key, split_typed


def bits(key: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Return random bits as unsigned integers of `dtype` (uint32).

    >>> from tinytrace import random
    >>> random.bits(random.key(0), (2,))
    Array([ 928981903, 3453687069], dtype=uint32)
    """
    typed, _ = check_key("bits", key)
    canonical = user_dtype(dtype or np.uint32)
    if not is_unsigned(canonical):
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {dtype}")
    return random_bits(typed, 8 * canonical.itemsize, canonicalize_shape(shape))


def uniform(key: Any, shape: Shape = (), dtype: Any = float, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Return samples of the uniform distribution on [minval, maxval).

    Raises: ValueError unless `dtype` is a float.

    >>> from tinytrace import random
    >>> random.uniform(random.key(0))
    Array(0.41845703, dtype=float32)
    """
    typed, _ = check_key("uniform", key)
    return _uniform(typed, canonicalize_shape(shape), float_dtype("uniform", dtype), minval, maxval)


def normal(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples of the standard normal distribution; of complex numbers with variance 1, half of it in each part.

    Raises: ValueError unless `dtype` is a float or complex.
    """
    typed, _ = check_key("normal", key)
    return _normal(typed, canonicalize_shape(shape), float_dtype("normal", dtype, "float or complex"))


def randint(key: Any, shape: Shape, minval: Any, maxval: Any, dtype: Any = int) -> Any:
    """Return integers from [minval, maxval), all (nearly) equally likely.

    Raises: TypeError unless `dtype` is an integer type.
    """
    typed, _ = check_key("randint", key)
    return _randint(typed, canonicalize_shape(shape), minval, maxval, user_dtype(dtype))


def bernoulli(key: Any, p: Any = 0.5, shape: Shape | None = None) -> Any:
    """Return booleans that are True with probability `p`."""
    typed, _ = check_key("bernoulli", key)
    dtype = canonicalize_dtype(given_dtype(p))
    if not is_float(dtype):
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtype}.")
    p = lax.convert_element_type(p, dtype)
    return _bernoulli(typed, p, optional_shape(shape))


def categorical(key: Any, logits: Any, axis: int = -1, shape: Shape | None = None) -> Any:
    """Return the positions along `axis` drawn with probabilities softmax(`logits`)."""
    typed, _ = check_key("categorical", key)
    logits = jnp.asarray(logits)
    axis -= logits.ndim if axis >= 0 else 0
    batch_shape = tuple(np.delete(logits.shape, axis).tolist())
    shape = batch_shape if shape is None else canonicalize_shape(shape)
    check_broadcast("categorical", shape, batch_shape)
    cut = len(shape) - len(batch_shape)
    inner = list(shape[cut:])
    inner.insert(axis % logits.ndim, logits.shape[axis])
    noise = gumbel(typed, (*shape[:cut], *inner), logits.dtype)
    return jnp.argmax(noise + lax.expand_dims(logits, tuple(range(cut))), axis=axis)


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """Return `x` shuffled along `axis`; an integer stands for `arange(x)`."""
    typed, _ = check_key("permutation", key)
    check_arraylike("permutation", x)
    axis = canonicalize_axis(axis, np.ndim(x) or 1)
    if not np.ndim(x):
        if not np.issubdtype(given_dtype(x), np.integer):
            raise TypeError("x must be an integer or at least 1-dimensional")
        return _shuffle(typed, jnp.arange(int(x)), axis)
    if independent or np.ndim(x) == 1:
        return _shuffle(typed, x, axis)
    order = _shuffle(typed, jnp.arange(np.shape(x)[axis]), 0)
    return jnp.take(x, order, axis, unique_indices=True)


def choice(key: Any, a: Any, shape: Shape = (), replace: bool = True, p: Any = None, axis: int = 0) -> Any:
    """Return elements (or slices along `axis`) of `a`, an array or the range of an integer, with probabilities `p`.

    Raises: ValueError when more are drawn without replacement than there are.
    """
    typed, _ = check_key("choice", key)
    if not isinstance(shape, Sequence):
        raise TypeError(f"shape argument of jax.random.choice must be a sequence, got {shape}")
    check_arraylike("choice", a)
    population = jnp.asarray(a)
    is_range = population.ndim == 0
    axis = axis if is_range else canonicalize_axis(axis, population.ndim)
    n = int(a) if is_range else population.shape[axis]
    draws = int(np.prod(shape, dtype=np.int64))
    if draws == 0:
        return jnp.zeros(shape, dtype=population.dtype)
    if n <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > n:
        raise ValueError("Cannot take a larger sample than population when 'replace=False'")
    if p is None and not replace:
        drawn = permutation(typed, n if is_range else population, axis)[(slice(None),) * axis + (slice(draws),)]
    else:
        order = randint(typed, shape, 0, n) if p is None else _weighted(typed, p, n, shape, draws, replace)
        drawn = order if is_range else jnp.take(population, order, axis)
    rest = () if is_range else tuple(np.delete(population.shape, axis).tolist())
    return drawn.reshape((*rest[:axis], *shape, *rest[axis:]))


def exponential(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples of the exponential distribution of rate 1."""
    typed, _ = check_key("exponential", key)
    return _exponential(typed, canonicalize_shape(shape), float_dtype("exponential", dtype))


def gumbel(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples of the standard Gumbel distribution."""
    typed, _ = check_key("gumbel", key)
    return _gumbel(typed, canonicalize_shape(shape), float_dtype("gumbel", dtype))


def laplace(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples of the standard Laplace distribution."""
    typed, _ = check_key("laplace", key)
    return _laplace(typed, canonicalize_shape(shape), float_dtype("laplace", dtype))


def logistic(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples of the standard logistic distribution."""
    typed, _ = check_key("logistic", key)
    return _logistic(typed, canonicalize_shape(shape), float_dtype("logistic", dtype))


def cauchy(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples of the standard Cauchy distribution."""
    typed, _ = check_key("cauchy", key)
    return _cauchy(typed, canonicalize_shape(shape), float_dtype("cauchy", dtype))


def rademacher(key: Any, shape: Shape, dtype: Any = int) -> Any:
    """Return -1 and 1 with equal probability."""
    typed, _ = check_key("rademacher", key)
    return _rademacher(typed, canonicalize_shape(shape), user_dtype(dtype))


def truncated_normal(key: Any, lower: Any, upper: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples of the standard normal distribution between `lower` and `upper`."""
    typed, _ = check_key("truncated_normal", key)
    shape = optional_shape(shape)
    return _truncated_normal(typed, lower, upper, shape, float_dtype("truncated_normal", dtype))


def multivariate_normal(key: Any, mean: Any, cov: Any, shape: Shape | None = None, dtype: Any = None,
                        method: str = "cholesky") -> Any:
    """Return samples of the normal distribution with `mean: f32[..., n]` and covariance `cov: f32[..., n, n]`."""
    typed, _ = check_key("multivariate_normal", key)
    if method not in ("cholesky", "eigh", "svd"):
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}")
    dtype = canonicalize_dtype(jnp.result_type(float, mean, cov) if dtype is None else dtype)
    if not is_float(dtype):
        raise ValueError(f"dtype argument to `multivariate_normal` must be a float dtype, got {dtype}")
    shape = optional_shape(shape)
    return _multivariate_normal(typed, mean, cov, shape, dtype, method)


# --- what jaxprs show ------------------------------------------------------------------------------------------

@partial(jit, static_argnames=("shape", "dtype"))
def _uniform(key: Any, shape: tuple[int, ...], dtype: DType, minval: Any, maxval: Any) -> Any:
    """Random mantissas give numbers in [1, 2), which are then shifted and scaled."""
    check_broadcast("uniform", shape)
    minval, maxval = lax.convert_element_type(minval, dtype), lax.convert_element_type(maxval, dtype)
    minval, maxval = lax.broadcast_to_rank(minval, len(shape)), lax.broadcast_to_rank(maxval, len(shape))
    info = jnp.finfo(dtype)
    words = np.dtype(f"uint{info.bits}")
    drawn = 8 if info.nmant < 8 else info.bits
    random = lax.convert_element_type(random_bits(key, drawn, shape), words)
    one = np.asarray(1, dtype)
    in_one_to_two = lax.bitwise_or(lax.shift_right_logical(random, words.type(drawn - info.nmant)),
                                   one.view(words)[()])
    unit = lax.bitcast_convert_type(in_one_to_two, dtype) - one[()]
    return lax.max(minval, lax.reshape(unit * (maxval - minval) + minval, shape))


@partial(jit, static_argnames=("shape", "dtype"))
def _normal(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    if is_complex(dtype):
        key_real, key_imag = split_typed(key)
        real, imag = (_normal_real(part, shape, part_dtype(dtype)).astype(dtype) for part in (key_real, key_imag))
        return (real + 1j * imag) / np.array(np.sqrt(2), dtype)
    return _normal_real(key, shape, dtype)


@partial(jit, static_argnames=("shape", "dtype"))
def _normal_real(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    low = np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype), dtype=dtype)
    u = uniform(key, shape, dtype, low, np.asarray(1, dtype)[()])
    return lax.mul(np.asarray(np.sqrt(2), dtype)[()], lax.erf_inv(u))


@partial(jit, static_argnames=("shape", "dtype"))
def _randint(key: Any, shape: tuple[int, ...], minval: Any, maxval: Any, dtype: DType) -> Any:
    """Two random words per number: (high * 2**bits + low) mod span, in modular arithmetic."""
    if not is_integer(dtype):
        raise TypeError(f"randint only accepts integer dtypes, got {dtype}")
    if dtype in SMALL_INTEGERS:
        raise TypeError(f"randint only accepts 8-, 16-, 32-, or 64-bit dtypes, got {dtype}")
    check_broadcast("randint", shape, np.shape(minval), np.shape(maxval))
    minval, maxval = (x if is_integer(x.dtype) else x.astype(int) for x in map(jnp.asarray, (minval, maxval)))
    limits = jnp.iinfo(dtype)
    beyond = lax.gt(maxval, _clipped(jnp.array(limits.max, dtype), maxval.dtype))
    minval, maxval = _clipped(minval, dtype), _clipped(maxval, dtype)
    minval, maxval = lax.broadcast_to_rank(minval, len(shape)), lax.broadcast_to_rank(maxval, len(shape))
    nbits = limits.bits
    first, second = split_typed(key)
    high, low = random_bits(first, nbits, shape), random_bits(second, nbits, shape)
    unsigned = np.dtype(f"uint{nbits}")
    span = lax.convert_element_type(maxval - minval, unsigned)
    span = lax.select(maxval <= minval, lax.full_like(span, 1), span)
    span = lax.select(beyond & (maxval > minval), lax.add(span, unsigned.type(1)), span)
    factor = lax.rem(unsigned.type(2 ** (nbits // 2)), span)
    factor = lax.rem(lax.mul(factor, factor), span)
    offset = lax.add(lax.mul(lax.rem(high, span), factor), lax.rem(low, span))
    return lax.add(minval, lax.convert_element_type(lax.rem(offset, span), dtype))


@partial(jit, static_argnames=("shape",))
def _bernoulli(key: Any, p: Any, shape: tuple[int, ...] | None) -> Any:
    return uniform(key, sample_shape("bernoulli", shape, p), given_dtype(p)) < p


@partial(jit, static_argnames=("axis",))
def _shuffle(key: Any, x: Any, axis: int) -> Any:
    """Sort by random words, often enough that ties between them cannot matter."""
    rounds = int(np.ceil(3 * np.log(max(1, x.size)) / np.log(np.iinfo(np.uint32).max)))
    for _ in range(rounds):
        key, subkey = split_typed(key)
        _, x = lax.sort_key_val(random_bits(subkey, 32, x.shape), x, axis)
    return x


@partial(jit, static_argnames=("shape", "dtype"))
def _exponential(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    return lax.neg(lax.log1p(lax.neg(uniform(key, shape, dtype))))


@partial(jit, static_argnames=("shape", "dtype"))
def _gumbel(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    return -jnp.log(-jnp.log(uniform(key, shape, dtype, minval=jnp.finfo(dtype).tiny, maxval=1.0)))


@partial(jit, static_argnames=("shape", "dtype"))
def _laplace(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    u = uniform(key, shape, dtype, minval=-1.0 + jnp.finfo(dtype).epsneg, maxval=1.0)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


@partial(jit, static_argnames=("shape", "dtype"))
def _logistic(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    x = uniform(key, shape, dtype, minval=jnp.finfo(dtype).eps, maxval=1.0)
    return lax.log(lax.div(x, lax.sub(np.asarray(1, dtype)[()], x)))


@partial(jit, static_argnames=("shape", "dtype"))
def _cauchy(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    u = uniform(key, shape, dtype, minval=jnp.finfo(dtype).eps, maxval=1.0)
    return lax.tan(lax.mul(np.asarray(np.pi, dtype)[()], lax.sub(u, np.asarray(0.5, dtype)[()])))


@partial(jit, static_argnames=("shape", "dtype"))
def _rademacher(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    return (2 * bernoulli(key=key, p=0.5, shape=shape).astype(dtype) - 1).astype(dtype)


@partial(jit, static_argnames=("shape", "dtype"))
def _truncated_normal(key: Any, lower: Any, upper: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    shape = sample_shape("truncated_normal", shape, lower, upper)
    root = np.asarray(np.sqrt(2), dtype)[()]
    lower, upper = lax.convert_element_type(lower, dtype), lax.convert_element_type(upper, dtype)
    u = uniform(key, shape, dtype, minval=lax.erf(lower / root), maxval=lax.erf(upper / root))
    infinity = np.asarray(np.inf, dtype)[()]
    return jnp.clip(root * lax.erf_inv(u), lax.nextafter(lax.stop_gradient(lower), infinity),
                    lax.nextafter(lax.stop_gradient(upper), -infinity))


@partial(jit, static_argnames=("shape", "dtype", "method"))
def _multivariate_normal(key: Any, mean: Any, cov: Any, shape: tuple[int, ...] | None, dtype: DType,
                         method: str) -> Any:
    if np.ndim(mean) < 1:
        raise ValueError(f"multivariate_normal requires mean.ndim >= 1, got mean.ndim == {np.ndim(mean)}")
    if np.ndim(cov) < 2:
        raise ValueError(f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {np.ndim(cov)}")
    n = np.shape(mean)[-1]
    if np.shape(cov)[-2:] != (n, n):
        raise ValueError(f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, "
                         f"but got cov.shape == {np.shape(cov)}.")
    if shape is None:
        shape = lax.broadcast_shapes(np.shape(mean)[:-1], np.shape(cov)[:-2])
    factor = _root(cov, method)
    samples = normal(key, (*shape, n), dtype)
    with numpy_rank_promotion("allow"):
        return mean + jnp.einsum("...ij,...j->...i", factor, samples)


def _root(cov: Any, method: str) -> Any:
    """Return a matrix whose product with its transpose is `cov`."""
    if method == "cholesky":
        return jnp.linalg.cholesky(cov)
    vectors, squares = jnp.linalg.svd(cov)[:2] if method == "svd" else jnp.linalg.eigh(cov)[::-1]
    return vectors * jnp.sqrt(squares[..., None, :])


def _weighted(key: Any, p: Any, n: int, shape: Shape, draws: int, replace: bool) -> Any:
    """Return positions drawn with probabilities `p`: by the cumulative sum, or by the Gumbel top-k trick."""
    p = jnp.asarray(p)
    p = p if is_float(p.dtype) else p.astype(float)
    if p.shape != (n,):
        raise ValueError("p must be None or match the shape of a")
    if not replace:
        return jnp.argsort(-gumbel(key, (n,), dtype=p.dtype) - jnp.log(p))[:draws]
    cumulative = jnp.cumsum(p)
    r = cumulative[-1] * (1 - uniform(key, shape, dtype=cumulative.dtype))
    return jnp.searchsorted(cumulative, r).astype(int)


def _clipped(x: Any, dtype: DType) -> Any:
    """Return integers `x` as `dtype`, clipped to what it holds."""
    mine, theirs = jnp.iinfo(x.dtype), jnp.iinfo(dtype)
    low, high = max(int(mine.min), int(theirs.min)), min(int(mine.max), int(theirs.max))
    like_x = int if x.weak_type else x.dtype.type  # a strong limit would make a weak x strong
    return lax.convert_element_type(jnp.clip(x, like_x(low), like_x(high)), dtype)
