"""Samples that count: of the geometric, the Poisson and the binomial distribution."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace import numpy as jnp
from tinytrace.api.jit import jit
from tinytrace.api.library import remembered
from tinytrace.core.dtypes import DType, is_integer
from tinytrace.numpy.promotion import check_arraylike, promote_dtypes_inexact
from tinytrace.random.arguments import Shape, float_dtype, optional_shape, sample_shape, user_dtype
from tinytrace.random.keys import check_key, key_impl, split, split_typed
from tinytrace.random.samplers import uniform


def geometric(key: Any, p: Any, shape: Shape | None = None, dtype: Any = int) -> Any:
    """Return how many trials it takes to succeed once, each with probability `p`.

    Raises: ValueError unless `dtype` is an integer type.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.geometric.html.

    >>> jax.random.geometric(jax.random.key(0), 0.5, (2,)).shape
    (2,)
    """
    typed, _ = check_key("geometric", key)
    canonical = user_dtype(dtype)
    if not is_integer(canonical):
        raise ValueError(f"dtype argument to `geometric` must be an int dtype, got {dtype}")
    return _geometric(typed, p, optional_shape(shape), canonical)


@remembered("shape", "dtype", numbers=True)
def poisson(key: Any, lam: Any, shape: Shape | None = None, dtype: Any = int) -> Any:
    """Return samples of the Poisson distribution with mean `lam`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.poisson.html.

    >>> jax.random.poisson(jax.random.key(0), 3.0, (2,)).shape
    (2,)
    """
    typed, _ = check_key("poisson", key)
    if str(key_impl(typed)) != "fry":
        raise NotImplementedError(f"`poisson` is only implemented for the threefry2x32 RNG, not {key_impl(typed)}")
    shape = np.shape(lam) if shape is None else optional_shape(shape)
    lam = lax.convert_element_type(jnp.broadcast_to(lam, shape), np.float32)
    return _poisson(typed, lam, shape, user_dtype(dtype))


def binomial(key: Any, n: Any, p: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return how many of `n` trials succeed, each with probability `p`; nan for a p or n that makes no sense.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.binomial.html.

    >>> jax.random.binomial(jax.random.key(0), 10, 0.5, (2,)).shape
    (2,)
    """
    typed, _ = check_key("binomial", key)
    check_arraylike("binomial", n, p)
    return _binomial(typed, n, p, optional_shape(shape), float_dtype("binomial", dtype))


# --- what jaxprs show ------------------------------------------------------------------------------------------

@partial(jit, static_argnames=("shape", "dtype"))
def _geometric(key: Any, p: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    shape = sample_shape("geometric", shape, p)
    check_arraylike("geometric", p)
    p, = promote_dtypes_inexact(p)
    log_u = lax.log(uniform(key, shape, p.dtype))
    log_failure = jnp.broadcast_to(lax.log1p(-p), shape)
    return (lax.floor(lax.div(log_u, log_failure)) + 1).astype(dtype)


@partial(jit, static_argnames=("shape", "dtype"))
def _poisson(key: Any, lam: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Two algorithms run, each on the elements that are for it and on a harmless number in the place of the others."""
    is_small = lax.ne(lam, lam) | (lam < 10)
    small = lax.select(is_small, lam, lax.full_like(lam, 0.0))
    large = lax.select(is_small, lax.full_like(lam, 1e5), lam)
    most = dtype.type(jnp.iinfo(dtype).max)
    sample = lax.select(is_small, _poisson_knuth(key, small, shape, dtype, most),
                        _poisson_rejection(key, large, shape, dtype, most))
    return lax.select(lam == 0, jnp.zeros_like(sample), sample)


@partial(jit, static_argnames=("shape", "dtype", "max_iters"))
def _poisson_knuth(key: Any, lam: Any, shape: tuple[int, ...], dtype: DType, max_iters: Any) -> Any:
    """Count events until their waiting times, which are exponential, sum to more than one.

    Source: D. Knuth, "The Art of Computer Programming", volume 2, 3.4.1.
    """
    def waiting(state: Any) -> Any:
        turn, _, _, log_product = state
        return (log_product > -lam).any() & (turn < max_iters)

    def wait(state: Any) -> Any:
        turn, count, key, log_product = state
        key, subkey = split_typed(key)
        count = lax.select(log_product > -lam, count + 1, count)
        u = uniform(subkey, shape, np.float32)
        return turn + 1, count, key, log_product + jnp.log(u)

    start = 0, lax.full_like(lam, 0, dtype, shape), key, lax.full_like(lam, 0, np.float32, shape)
    return (lax.while_loop(waiting, wait, start)[1] - 1).astype(dtype)


@partial(jit, static_argnames=("shape", "dtype", "max_iters"))
def _poisson_rejection(key: Any, lam: Any, shape: tuple[int, ...], dtype: DType, max_iters: Any) -> Any:
    """Transformed rejection, for means of 10 and more.

    Source: W. Hormann, "The transformed rejection method for generating Poisson random variables" (1993): PTRS.
    """
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def missing(state: Any) -> Any:
        turn, _, accepted, _ = state
        return (~accepted).any() & (turn < max_iters)

    def draw(state: Any) -> Any:
        turn, sample, accepted, key = state
        key, key_u, key_v = split_typed(key, 3)
        u = uniform(key_u, shape, lam.dtype) - 0.5
        v = uniform(key_v, shape, lam.dtype)
        to_edge = 0.5 - abs(u)
        k = lax.floor((2 * a / to_edge + b) * u + lam + 0.43)
        s = lax.log(v * inverse_alpha / (a / (to_edge * to_edge) + b))
        t = -lam + k * log_lam - lax.lgamma(k + 1)
        inside = (to_edge >= 0.07) & (v <= v_r)
        outside = (k < 0) | ((to_edge < 0.013) & (v > to_edge))
        likely = s <= t
        accept = inside | (~outside & likely)
        sample, accepted = lax.select(accept, k, sample), accepted | accept
        return turn + 1, sample, accepted, key

    start = 0, lax.full_like(lam, -1, lam.dtype, shape), lax.full_like(lam, False, np.bool_, shape), key
    return lax.while_loop(missing, draw, start)[1].astype(dtype)


@partial(jit, static_argnames=("shape", "dtype"), inline=True)
def _binomial(key: Any, count: Any, prob: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    """Count successes or, if these are likelier, failures; two algorithms, as `_poisson` has them."""
    shape = sample_shape("binomial", shape, count, prob)
    prob, = promote_dtypes_inexact(prob)
    count = jnp.broadcast_to(lax.convert_element_type(count, prob.dtype), shape)
    prob = jnp.broadcast_to(prob, shape)
    fails_more = prob < 0.5
    q = lax.select(fails_more, prob, 1.0 - prob)
    bad_count = lax.ne(count, count) | (count < 0.0)
    endless = jnp.isinf(count)
    q_is_nan, q_is_negative = lax.ne(q, q), q < 0.0
    q = lax.select(q_is_nan | q_is_negative, lax.full_like(q, 0.01), q)
    few = bad_count | (count * q <= 10.0)
    count = jnp.floor(count)
    count_of_few = lax.select(few, count, lax.full_like(count, 0.0))
    count_of_many = lax.select(few, lax.full_like(count, 1e4), count)
    q_of_many = lax.select(few, lax.full_like(q, 0.5), q)
    most = dtype.type(jnp.finfo(dtype).max)
    sample = lax.select(few, _binomial_inversion(key, count_of_few, q, shape, dtype, most),
                        _btrs(key, count_of_many, q_of_many, shape, dtype, most))
    bad = q_is_negative | q_is_nan | bad_count
    sample = lax.select(bad, jnp.full_like(sample, np.nan, dtype), sample)
    sample = lax.select(endless & ~bad, jnp.full_like(sample, np.inf, dtype), sample)
    as_is = fails_more | bad_count | q_is_nan | endless
    return lax.select(as_is, sample, count.astype(dtype) - sample)


@partial(jit, static_argnames=("shape", "dtype", "max_iters"), inline=True)
def _binomial_inversion(key: Any, count: Any, prob: Any, shape: tuple[int, ...], dtype: DType, max_iters: Any) -> Any:
    """Count the geometric samples that it takes to pass `count`."""
    log_failure = jnp.log1p(-prob)

    def waiting(state: Any) -> Any:
        turn, _, total, _ = state
        return (total <= count).any() & (turn < max_iters)

    def wait(state: Any) -> Any:
        turn, successes, total, key = state
        subkey, key = split(key)
        successes = lax.select(total <= count, successes + 1, successes)
        u = uniform(subkey, shape, prob.dtype)
        total = total + jnp.ceil(jnp.log(u) / log_failure)
        return turn + 1, successes, total, key

    zeros = [lax.full_like(prob, 0, prob.dtype, shape) for _ in range(2)]
    return (lax.while_loop(waiting, wait, (0, *zeros, key))[1] - 1).astype(dtype)


@partial(jit, static_argnames=("shape", "dtype", "max_iters"), inline=True)
def _btrs(key: Any, count: Any, prob: Any, shape: tuple[int, ...], dtype: DType, max_iters: Any) -> Any:
    """Transformed rejection with squeezing.

    Source: W. Hormann, "The generation of binomial random variates" (1993), algorithm BTRS.
    """
    deviation = jnp.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    odds = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = jnp.floor((count + 1) * prob)

    def log_ratio(k: Any) -> Any:
        """The logarithm of how much likelier than the mode `k` is."""
        return ((mode + 0.5) * jnp.log((mode + 1) / (odds * (count - mode + 1)))
                + (count + 1) * jnp.log((count - mode + 1) / (count - k + 1))
                + (k + 0.5) * jnp.log(odds * (count - k + 1) / (k + 1))
                + _stirling_rest(mode) + _stirling_rest(count - mode) - _stirling_rest(k) - _stirling_rest(count - k))

    def missing(state: Any) -> Any:
        turn, _, accepted, _ = state
        return (~accepted).any() & (turn < max_iters)

    def draw(state: Any) -> Any:
        turn, sample, accepted, key = state
        key, key_u, key_v = split(key, 3)
        u, v = uniform(key_u, shape, prob.dtype), uniform(key_v, shape, prob.dtype)
        u = u - 0.5
        to_edge = 0.5 - jnp.abs(u)
        inside = (to_edge >= 0.07) & (v <= v_r)
        k = jnp.floor((2 * a / to_edge + b) * u + c)
        outside = (k < 0) | (k > count)
        v = jnp.log(v * alpha / (a / (to_edge * to_edge) + b))
        likely = v <= log_ratio(k)
        accept = inside | (~outside & likely)
        sample, accepted = lax.select(accept, k, sample), accepted | accept
        return turn + 1, sample, accepted, key

    start = 0, lax.full_like(prob, -1, prob.dtype, shape), jnp.full(shape, False, np.bool_), key
    return lax.while_loop(missing, draw, start)[1].astype(dtype)


def _stirling_rest(k: Any) -> Any:
    """Return log(k!) less Stirling's approximation of it: from a table up to 9, then by more terms of the series."""
    table = jnp.array(_STIRLING_RESTS, dtype=k.dtype)
    is_small = k <= 9
    k = lax.clamp(0.0, k, 9.0)
    square = (k + 1) * (k + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    k = jnp.floor(k)
    return lax.select(is_small, table[jnp.int32(k)], series)


_STIRLING_RESTS = (0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
                   0.0138761288230707, 0.0118967099458917, 0.010411265261972, 0.00925546218271273, 0.00833056343336287)
