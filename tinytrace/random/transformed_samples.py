"""Samples of distributions that are functions of uniform, normal, exponential or gamma samples."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tinytrace import lax
from tinytrace import numpy as jnp
from tinytrace.api.jit import jit
from tinytrace.core.avals import canonicalize_shape
from tinytrace.core.dtypes import DType
from tinytrace.numpy.promotion import concrete_index
from tinytrace.primitives.elementwise import const_like
from tinytrace.random.arguments import Shape, float_dtype, optional_shape, sample_shape
from tinytrace.random.gamma_samples import gamma
from tinytrace.random.keys import check_key, split, split_typed
from tinytrace.random.samplers import exponential, normal, rademacher, uniform

_ONE = np.float32(1)


def lognormal(key: Any, sigma: Any = _ONE, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples whose logarithms are normal with mean 0 and standard deviation `sigma`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.lognormal.html.

    >>> jax.random.lognormal(jax.random.key(0), shape=(2,)).shape
    (2,)
    """
    typed, _ = check_key("lognormal", key)
    return _lognormal(typed, sigma, optional_shape(shape), float_dtype("lognormal", dtype, "float or complex"))


def rayleigh(key: Any, scale: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples of the Rayleigh distribution: the lengths of normal vectors of two dimensions.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.rayleigh.html.

    >>> jax.random.rayleigh(jax.random.key(0), 1.0, (2,)).shape
    (2,)
    """
    typed, _ = check_key("rayleigh", key)
    return _rayleigh(typed, scale, optional_shape(shape), float_dtype("rayleigh", dtype))


def maxwell(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples of the Maxwell distribution: the lengths of normal vectors of three dimensions.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.maxwell.html.

    >>> jax.random.maxwell(jax.random.key(0), (2,)).shape
    (2,)
    """
    typed, _ = check_key("maxwell", key)
    return _maxwell(typed, canonicalize_shape(shape), float_dtype("maxwell", dtype))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples `loc + scale * m`, with m of the Maxwell distribution and a random sign.

    The parameters' shape is added to `shape`, as in JAX.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.double_sided_maxwell.html.

    >>> jax.random.double_sided_maxwell(jax.random.key(0), 0.0, 1.0, (2,)).shape
    (2,)
    """
    typed, _ = check_key("double_sided_maxwell", key)
    dtype = float_dtype("double_sided_maxwell", dtype)
    return _double_sided_maxwell(typed, loc, scale, canonicalize_shape(shape), dtype)


def pareto(key: Any, b: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples of the Pareto distribution on [1, inf) with exponent `b`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.pareto.html.

    >>> bool((jax.random.pareto(jax.random.key(0), 2.0, (5,)) >= 1).all())
    True
    """
    typed, _ = check_key("pareto", key)
    return _pareto(typed, b, optional_shape(shape), float_dtype("pareto", dtype))


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples of the Weibull distribution: exponential samples to the power `1 / concentration`, scaled.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.weibull_min.html.

    >>> jax.random.weibull_min(jax.random.key(0), 1.0, 2.0, (2,)).shape
    (2,)
    """
    typed, _ = check_key("weibull_min", key)
    dtype = float_dtype("weibull_min", dtype)
    return _weibull_min(typed, scale, concentration, canonicalize_shape(shape), dtype)


def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples between `left` and `right` whose density is a triangle with its top at `mode`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.triangular.html.

    >>> jax.random.triangular(jax.random.key(0), 0.0, 1.0, 2.0, (2,)).shape
    (2,)
    """
    typed, _ = check_key("triangular", key)
    return _triangular(typed, left, mode, right, optional_shape(shape), float_dtype("triangular", dtype))


def wald(key: Any, mean: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Return samples of the Wald (inverse Gaussian) distribution of scale 1.

    Source: J. R. Michael et al., "Generating random variates using transformations with multiple roots" (1976).
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.wald.html.

    >>> jax.random.wald(jax.random.key(0), 1.0, (2,)).shape
    (2,)
    """
    typed, _ = check_key("wald", key)
    return _wald(typed, mean, optional_shape(shape), float_dtype("wald", dtype))


def generalized_normal(key: Any, p: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Return samples whose density is proportional to `exp(-abs(x) ** p)`.

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.generalized_normal.html.

    >>> jax.random.generalized_normal(jax.random.key(0), 1.5, (2,)).shape
    (2,)
    """
    shape = canonicalize_shape(shape)
    typed, _ = check_key("generalized_normal", key)
    keys = split(typed)
    size = gamma(keys[0], 1 / p, shape, dtype)
    return rademacher(keys[1], shape, dtype) * size ** (1 / p)


def ball(key: Any, d: int, p: Any = 2, shape: Shape = (), dtype: Any = float) -> Any:
    """Return points f32[*shape, d] that are spread evenly over the ball of radius 1 in the p-norm.

    Source: F. Barthe et al., "A probabilistic approach to the geometry of the l_p^n-ball" (2005), arXiv:math/0503650.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.ball.html.

    >>> bool((jnp.linalg.norm(jax.random.ball(jax.random.key(0), 3, shape=(5,)), axis=-1) <= 1).all())
    True
    """
    shape = canonicalize_shape(shape)
    typed, _ = check_key("ball", key)
    d = concrete_index(d, "The error occurred in jax.random.ball()")
    key_inside, key_outside = split(typed)
    inside = generalized_normal(key_inside, p, (*shape, d), dtype)
    outside = exponential(key_outside, shape, dtype)
    return inside / (((jnp.abs(inside) ** p).sum(-1) + outside) ** (1 / p))[..., None]


def orthogonal(key: Any, n: int, shape: Shape = (), dtype: Any = float) -> Any:
    """Return orthogonal matrices f32[*shape, n, n], each as likely as any other (the Haar measure).

    Source: F. Mezzadri, "How to generate random matrices from the classical compact groups" (2007).
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.random.orthogonal.html.

    >>> q = jax.random.orthogonal(jax.random.key(0), 3)
    >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5))
    True
    """
    shape = canonicalize_shape(shape)
    typed, _ = check_key("orthogonal", key)
    n = concrete_index(n, "The error occurred in jax.random.orthogonal()")
    q, r = jnp.linalg.qr(normal(typed, (*shape, n, n), dtype))
    d = jnp.diagonal(r, 0, -2, -1)
    return lax.mul(q, lax.expand_dims(lax.div(d, abs(d).astype(d.dtype)), [-2]))


# --- what jaxprs show ------------------------------------------------------------------------------------------

@partial(jit, static_argnames=("shape", "dtype"), inline=True)
def _lognormal(key: Any, sigma: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    shape = sample_shape("triangular", shape, sigma)  # the name is what JAX's message says
    sigma = jnp.broadcast_to(sigma, shape)
    return lax.exp(normal(key, shape, dtype) * sigma)


@partial(jit, static_argnames=("shape", "dtype"))
def _rayleigh(key: Any, scale: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    shape = sample_shape("rayleigh", shape, scale)
    u = uniform(key, shape, dtype)
    scale = jnp.broadcast_to(scale.astype(dtype), shape)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(u), const_like(scale, -2))))


@partial(jit, static_argnames=("shape", "dtype"))
def _maxwell(key: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    return jnp.linalg.norm(normal(key, (*shape, 3), dtype), axis=-1)


@partial(jit, static_argnames=("shape", "dtype"))
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    parameters = lax.broadcast_shapes(np.shape(loc), np.shape(scale))
    shape = (shape or parameters) + parameters
    key_size, key_sign = split_typed(key)
    size = maxwell(key_size, shape, dtype)
    return rademacher(key_sign, shape, dtype) * size * scale + loc


@partial(jit, static_argnames=("shape", "dtype"))
def _pareto(key: Any, b: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    shape = np.shape(b) if shape is None else shape
    b = lax.convert_element_type(b, dtype)
    return lax.exp(exponential(key, shape, dtype) / b)


@partial(jit, static_argnames=("shape", "dtype"))
def _weibull_min(key: Any, scale: Any, concentration: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    u = uniform(key, shape, dtype, 0, 1)
    return jnp.power(-jnp.log1p(-u), 1.0 / concentration) * scale


@partial(jit, static_argnames=("shape", "dtype"), inline=True)
def _triangular(key: Any, left: Any, mode: Any, right: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    """The inverse of the distribution function, of which each side of the mode is half a parabola."""
    shape = sample_shape("triangular", shape, left, mode, right)
    left, mode, right = jnp.broadcast_to(left, shape), jnp.broadcast_to(mode, shape), jnp.broadcast_to(right, shape)
    share_left = (mode - left) / (right - left)
    u = uniform(key, shape, dtype)
    on_the_left = left + lax.sqrt(u * (right - left) * (mode - left))
    on_the_right = right - lax.sqrt((1 - u) * (right - left) * (right - mode))
    return lax.select(u < share_left, on_the_left, on_the_right)


@partial(jit, static_argnames=("shape", "dtype"))
def _wald(key: Any, mean: Any, shape: tuple[int, ...] | None, dtype: DType) -> Any:
    """One of the two roots of a quadratic equation with a normal coefficient."""
    shape = sample_shape("wald", shape, mean)
    key_root, key_choice = split_typed(key)
    mean = jnp.broadcast_to(mean.astype(dtype), shape)
    v, z = normal(key_root, shape, dtype), uniform(key_choice, shape, dtype)
    y = lax.integer_pow(v, 2)
    y_squared, mean_squared = lax.integer_pow(y, 2), lax.integer_pow(mean, 2)
    root = lax.sqrt(4 * mean * y + mean_squared * y_squared)
    x = mean + mean_squared * y / 2 - mean / 2 * root
    return lax.select(lax.le(z, mean / (mean + x)), x, mean_squared / x)
