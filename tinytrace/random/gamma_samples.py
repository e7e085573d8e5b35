"""Samples of the gamma distribution, and of those that are made of it: beta, dirichlet, chi-square, F, Student's t."""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace import numpy as jnp
from tinytrace.api.jit import jit
from tinytrace.api.library import remembered
from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.api.vmapping import vmap
from tinytrace.control_flow.bodies import run_body
from tinytrace.core.avals import ShapedArray, canonicalize_shape
from tinytrace.core.dtypes import KEY_FRY, KEY_TYPES, DType
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.storage import key_type_of
from tinytrace.core.tangents import Zero
from tinytrace.primitives.broadcasting import batch_dim_at_front
from tinytrace.primitives.elementwise import const_like
from tinytrace.primitives.shaping import NDArray
from tinytrace.random.arguments import Shape, float_dtype, optional_shape, sample_shape
from tinytrace.random.keys import check_key, split_typed
from tinytrace.random.samplers import exponential, normal, uniform


def gamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples of the gamma distribution with exponent `a - 1` and rate 1.

    Raises: ValueError unless `a` broadcasts to `shape` and `dtype` is a float.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.gamma.html.

    >>> jax.random.gamma(jax.random.key(0), 2.0, (2,)).shape
    (2,)
    """
    typed, _ = check_key("gamma", key)
    return _gamma(typed, a, shape=optional_shape(shape), dtype=float_dtype("gamma", dtype))


def loggamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return logarithms of samples of the gamma distribution, right also for a small `a`, where samples underflow.

    Raises: ValueError unless `a` broadcasts to `shape` and `dtype` is a float.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.loggamma.html.

    >>> jax.random.loggamma(jax.random.key(0), 1e-4) < -100
    Array(True, dtype=bool)
    """
    typed, _ = check_key("loggamma", key)
    return _gamma(typed, a, shape=optional_shape(shape), dtype=float_dtype("gamma", dtype), log_space=True)


@remembered("shape", "dtype", numbers=True)
def beta(key: Any, a: Any, b: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples of the beta distribution on [0, 1] with exponents `a - 1` and `b - 1`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.beta.html.

    >>> jax.random.beta(jax.random.key(0), 2.0, 2.0, (3,)).shape
    (3,)
    """
    typed, _ = check_key("beta", key)
    dtype, shape = float_dtype("beta", dtype), optional_shape(shape)
    shape = sample_shape("beta", shape, a, b)
    a, b = lax.convert_element_type(a, dtype), lax.convert_element_type(b, dtype)
    key_a, key_b = split_typed(typed)
    a, b = jnp.broadcast_to(a, shape), jnp.broadcast_to(b, shape)
    log_a, log_b = loggamma(key_a, a, shape, dtype), loggamma(key_b, b, shape, dtype)
    larger = lax.max(log_a, log_b)  # taken from both, so that a / (a + b) keeps its digits
    scaled_a, scaled_b = jnp.exp(log_a - larger), jnp.exp(log_b - larger)
    return scaled_a / (scaled_a + scaled_b)


def dirichlet(key: Any, alpha: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples of the Dirichlet distribution: f32[*shape, n] for `alpha: f32[..., n]`, rows that sum to 1.

    Raises: ValueError for an `alpha` without axes.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.dirichlet.html.

    >>> jax.random.dirichlet(jax.random.key(0), jnp.ones(3), (2,)).sum(-1)
    Array([1., 1.], dtype=float32)
    """
    typed, _ = check_key("dirichlet", key)
    return _dirichlet(typed, alpha, optional_shape(shape), float_dtype("dirichlet", dtype))


def chisquare(key: Any, df: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples of the chi-square distribution with `df` degrees of freedom.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.chisquare.html.

    >>> jax.random.chisquare(jax.random.key(0), 3.0, (2,)).shape
    (2,)
    """
    typed, _ = check_key("chisquare", key)
    return _chisquare(typed, df, optional_shape(shape), float_dtype("chisquare", dtype))


def f(key: Any, dfnum: Any, dfden: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples of the F distribution with `dfnum` and `dfden` degrees of freedom.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.f.html.

    >>> jax.random.f(jax.random.key(0), 3.0, 5.0, (2,)).shape
    (2,)
    """
    typed, _ = check_key("f", key)
    return _f(typed, dfnum, dfden, optional_shape(shape), float_dtype("f", dtype))


def t(key: Any, df: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples of Student's t distribution with `df` degrees of freedom.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.t.html.

    >>> jax.random.t(jax.random.key(0), 3.0, (2,)).shape
    (2,)
    """
    typed, _ = check_key("t", key)
    return _t(typed, df, canonicalize_shape(shape), float_dtype("t", dtype))


# --- what jaxprs show ------------------------------------------------------------------------------------------

@partial(jit, static_argnames=("shape", "dtype", "log_space"))
def _gamma(key: Any, a: Any, shape: tuple[int, ...] | None, dtype: DType, log_space: bool = False) -> Any:
    shape = sample_shape("gamma", shape, a)
    a = lax.convert_element_type(a, dtype)
    if np.shape(a) != shape:
        a = jnp.broadcast_to(a, shape)
    return random_gamma_p.bind(key, a, log_space=log_space)


@partial(jit, static_argnames=("shape", "dtype"))
def _dirichlet(key: Any, alpha: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    """Logarithms of gamma samples, normalized as softmax does it."""
    if not np.ndim(alpha):
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {np.ndim(alpha)}")
    *batch, n = np.shape(alpha)
    shape = sample_shape("dirichlet", shape, np.empty(batch))
    samples = loggamma(key, lax.convert_element_type(alpha, dtype), (*shape, n), dtype)
    largest = jnp.max(samples, -1, keepdims=True)
    scaled = jnp.exp(samples - lax.stop_gradient(largest))
    return scaled / scaled.sum(-1, keepdims=True)


@partial(jit, static_argnames=("shape", "dtype"))
def _chisquare(key: Any, df: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    shape = sample_shape("chisquare", shape, df)
    df = lax.convert_element_type(df, dtype)
    two = const_like(df, 2)
    return lax.mul(jnp.exp(loggamma(key, a=lax.div(df, two), shape=shape, dtype=dtype)), two)


@partial(jit, static_argnames=("shape", "dtype"))
def _f(key: Any, dfnum: Any, dfden: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    shape = sample_shape("f", shape, dfden, dfnum)
    dfden, dfnum = lax.convert_element_type(dfden, dtype), lax.convert_element_type(dfnum, dtype)
    key_below, key_above = split_typed(key)
    above, below = chisquare(key_above, dfnum, shape, dtype), chisquare(key_below, dfden, shape, dtype)
    dfden, dfnum = jnp.broadcast_to(dfden, shape), jnp.broadcast_to(dfnum, shape)
    return lax.div(lax.div(above, dfnum), lax.div(below, dfden))


@partial(jit, static_argnames=("shape", "dtype"))
def _t(key: Any, df: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    shape = sample_shape("t", shape, df)
    df = lax.convert_element_type(df, dtype)
    key_normal, key_gamma = split_typed(key)
    sample = normal(key_normal, shape, dtype)
    half = lax.div(df, const_like(sample, 2))
    return sample * jnp.sqrt(half / gamma(key_gamma, half, shape, dtype))


# --- the primitive ---------------------------------------------------------------------------------------------

class RandomGamma(Primitive):
    """`random_gamma[log_space=False] keys: key<fry>[n] a: f32[n,3]` is f32[n,3]: a sample for each element of `a`."""

    name = "random_gamma"
    composite = True

    def abstract_eval(self, keys: ShapedArray, a: ShapedArray, *, log_space: bool) -> ShapedArray:
        return a.update(weak_type=False)

    def impl(self, keys: NDArray, a: NDArray, *, log_space: bool) -> NDArray:
        key_type = KEY_TYPES[key_type_of(keys.dtype).impl]
        program = _sampler(ShapedArray(keys.shape, key_type), ShapedArray(a.shape, a.dtype), log_space)
        samples: NDArray = run_body(program, [keys, a])[0]
        return samples

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, log_space: bool) -> tuple[Any, Any]:
        (keys, a), (_, a_dot) = primals, tangents
        sample = self.bind(keys, a, log_space=log_space)
        if type(a_dot) is Zero:
            return sample, Zero.from_primal_value(sample)
        return sample, a_dot * _gamma_derivative(sample, a, log_space)

    transpose = refuse("not linear")

    def batch(self, args: Sequence[Any], dims: Sequence[int | None], *, log_space: bool) -> tuple[Any, Any]:
        size = next(np.shape(x)[d] for x, d in zip(args, dims, strict=True) if d is not None)
        keys, a = (batch_dim_at_front(x, d, size) for x, d in zip(args, dims, strict=True))
        return self.bind(keys, a, log_space=log_space), 0

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, log_space: bool) -> Kind:
        keys, a = in_avals
        return Call(_sampler(keys, a, log_space))


random_gamma_p = RandomGamma()

TOGETHER = 64
"""Samples that are drawn side by side: vectors are full."""
BLOCK = 16 * TOGETHER
"""Samples among which those that are rejected wait for one another: the last turns, which fill no vector, are few."""
FEW = 16
"""Fewer than this are drawn one by one."""


def _sampler(keys: ShapedArray, a: ShapedArray, log_space: bool) -> ClosedJaxpr:
    """Return the program of the primitive: every element has a key of its own, split from the key of its group."""
    def sample(keys: Any, a: Any) -> Any:
        each = split_typed(keys, math.prod(a.shape[keys.ndim:]))
        pairs = lax.reshape(each, (a.size,)), lax.reshape(a, (a.size,))
        if a.size < FEW or keys.dtype is not KEY_FRY:  # bits of other generators depend on who is drawn with whom
            return lax.reshape(lax.map(one, pairs), a.shape)
        size = a.size if a.size < TOGETHER else min(-(-a.size // TOGETHER) * TOGETHER, BLOCK)
        missing = -a.size % size  # the last block draws some samples again
        blocks = tuple(jnp.concatenate([x, x[:missing]]).reshape(-1, size) for x in pairs)
        return lax.reshape(lax.map(block, blocks).reshape(-1)[:a.size], a.shape)

    def one(pair: Any) -> Any:
        return _gamma_one(pair[0], pair[1], log_space)

    def block(pair: Any) -> Any:
        return _gamma_block(pair[0], pair[1], log_space)

    structs = [ShapeDtypeStruct(aval.shape, aval.dtype) for aval in (keys, a)]
    program: ClosedJaxpr = make_jaxpr(sample)(*structs)
    return program


def _gamma_one(key: Any, alpha: Any, log_space: bool) -> Any:
    """Return one sample, by rejection; an `alpha` below 1 is raised by 1 and the sample shrunk by a power of another.

    Source: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables" (2000).
    """
    key, subkey = split_typed(key)
    d, c = _scales(alpha)
    start = key, const_like(alpha, 1), jnp.bool_(True)
    _, v, _ = lax.while_loop(lambda state: state[2], lambda state: _attempt(state[0], d, c), start)
    return _sample_of(v, subkey, alpha, d, log_space)


def _gamma_block(keys: Any, alpha: Any, log_space: bool) -> Any:
    """Return samples f32[n], n a multiple of what is drawn together: those that are rejected wait for the next turn."""
    size = alpha.size
    together = min(size, TOGETHER)
    pairs = vmap(split_typed)(keys)
    d, c = _scales(alpha)
    waiting, lanes = lax.iota(np.int32, size), lax.iota(np.int32, together)

    def draw(state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Draw for `waiting[begin:begin + together]`, of which those before `end` need it; `kept` wait again."""
        keys, v, waiting, begin, end, kept = state
        chosen = lax.dynamic_slice(waiting, (begin,), (together,))
        taken = (x.at[chosen].get(mode="promise_in_bounds") for x in (keys, d, c))
        next_keys, cubes, rejected = vmap(_attempt)(*taken)
        needed = lax.lt(begin + lanes, end)
        rejected = rejected & needed
        drawn, again = jnp.where(needed, chosen, size), jnp.where(rejected, chosen, size)  # else nobody's places
        v, keys = v.at[drawn].set(cubes, mode="drop"), keys.at[again].set(next_keys, mode="drop")
        behind = jnp.where(rejected, kept + jnp.cumsum(rejected, dtype=np.int32) - 1, size)
        waiting = waiting.at[behind].set(chosen, mode="drop")
        kept, begin = kept + jnp.sum(rejected, dtype=np.int32), begin + together
        is_over = lax.ge(begin, end)
        zero = const_like(begin, 0)
        return (keys, v, waiting, lax.select(is_over, zero, begin), lax.select(is_over, kept, end),
                lax.select(is_over, zero, kept))

    start = pairs[:, 0], alpha, waiting, np.int32(0), np.int32(size), np.int32(0)
    v = lax.while_loop(lambda state: lax.gt(state[4], np.int32(0)), draw, start)[1]
    shrunk = partial(vmap(partial(_sample_of, log_space=log_space)), v, pairs[:, 1], alpha, d)
    return lax.cond(jnp.all(alpha >= const_like(alpha, 1)), lambda: _raised(v, d, log_space), shrunk)


def _scales(alpha: Any) -> tuple[Any, Any]:
    """Return `d` and `c` of the paper, for exponents of at least 1."""
    one, third = const_like(alpha, 1), const_like(alpha, 1 / 3)
    d = lax.sub(lax.select(lax.ge(alpha, one), alpha, lax.add(alpha, one)), third)
    return d, lax.div(third, lax.sqrt(d))


def _attempt(key: Any, d: Any, c: Any) -> tuple[Any, Any, Any]:
    """Return the key of the next attempt, v, and whether that is rejected."""
    key, cube_key, u_key = split_typed(key, 3)
    dtype, zero, one = c.dtype, const_like(c, 0), const_like(c, 1)

    def draw(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        key, subkey = split_typed(state[0])
        x = normal(subkey, (), dtype)
        return key, x, lax.add(one, lax.mul(x, c))

    _, x, v = lax.while_loop(lambda state: lax.le(state[2], zero), draw, (cube_key, zero, const_like(c, -1)))
    x2, v, u = lax.mul(x, x), lax.mul(lax.mul(v, v), v), uniform(u_key, (), dtype)
    outside = lax.ge(u, lax.sub(one, lax.mul(const_like(c, 0.0331), lax.mul(x2, x2))))
    bound = lax.add(lax.mul(x2, const_like(c, 0.5)), lax.mul(d, lax.add(lax.sub(one, v), lax.log(v))))
    return key, v, lax.bitwise_and(outside, lax.ge(lax.log(u), bound))


def _sample_of(v: Any, key: Any, alpha: Any, d: Any, log_space: bool) -> Any:
    one, dtype = const_like(alpha, 1), alpha.dtype
    is_large = lax.ge(alpha, one)
    if log_space:
        log_u = lax.neg(exponential(key, (), dtype))
        log_shrunk = lax.select(is_large | (log_u == 0), const_like(alpha, 0), lax.mul(log_u, lax.div(one, alpha)))
        return lax.add(lax.add(lax.log(d), lax.log(v)), log_shrunk)
    shrunk = lax.pow(1 - uniform(key, (), dtype), lax.div(one, alpha))
    return lax.mul(lax.mul(d, v), lax.select(is_large, one, shrunk))


def _raised(v: Any, d: Any, log_space: bool) -> Any:
    """Return what `_sample_of` does where no exponent is below 1: no sample is shrunk, none needs another number."""
    return lax.add(lax.log(d), lax.log(v)) if log_space else lax.mul(d, v)


def _gamma_derivative(sample: Any, a: Any, log_space: bool) -> Any:
    """Return how samples move with `a`; of a logarithm, divided by the sample, which may have underflowed."""
    samples, alphas = jnp.reshape(sample, -1), jnp.reshape(a, -1)
    if log_space:
        samples = lax.exp(samples)
        smallest = lax.full_like(samples, jnp.finfo(samples.dtype).tiny)
        samples = lax.select(lax.eq(samples, const_like(sample, 0)), smallest, samples)

    def derivative(pair: tuple[Any, Any]) -> Any:
        slope = lax.random_gamma_grad(*pair)
        return slope / pair[1] if log_space else slope

    return lax.map(derivative, (alphas, samples)).reshape(np.shape(a))
