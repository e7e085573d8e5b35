"""Softmax and its family: probabilities, their logarithms, one-hot codes, standardized values."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import library_jit, remembered
from tinytrace.config import config
from tinytrace.core.dtypes import canonicalize_dtype
from tinytrace.numpy.promotion import (
    ArrayLike,
    DTypeLike,
    Value,
    canonicalize_axis,
    check_arraylike,
    check_arraylike_or_none,
    concrete_index,
)


@remembered("axis")
def softmax(x: ArrayLike, axis: Any = -1, where: ArrayLike | None = None, initial: ArrayLike | None = None) -> Value:
    """Return `exp(x)` scaled so that it sums to 1 over `axis`, of the elements where `where`.

    >>> nn.softmax(jnp.array([0.0, 0.0]))
    Array([0.5, 0.5], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.softmax.html.
    """
    return _with_rule(x, axis, where) if config.softmax_custom_jvp else _softmax(x, axis, where)


def _softmax(x: Any, axis: Any, where: Any, initial: Any = -jnp.inf,
             held: Callable[[Value], Value] = lax.stop_gradient) -> Value:
    """`held`: what is done to the largest element, by which the result does not change."""
    largest = jnp.max(x, axis, where=where, initial=initial, keepdims=True)
    safe = x if where is None else jnp.where(where, x, initial)
    unnormalized = jnp.exp(safe - held(largest))
    result = unnormalized / jnp.sum(unnormalized, axis, where=where, keepdims=True)
    return result if where is None else jnp.where(where, result, 0)


def _softmax_of_jax(x: Any, axis: Any = -1, where: Any = None, initial: Any = -jnp.inf) -> Value:
    return _softmax(x, axis, where, initial, lambda largest: largest)


_softmax_of_jax.__name__ = "_softmax"  # what jaxprs print
_with_rule = custom_jvp(_softmax_of_jax, nondiff_argnums=(1,))


@_with_rule.defjvp
def _softmax_jvp(axis: Any, primals: Any, tangents: Any) -> tuple[Value, Value]:
    (x, where, initial), (x_dot, _, _) = primals, tangents
    y = _with_rule(x, axis, where, initial)
    return y, y * (x_dot - (y * x_dot).sum(axis, where=where, keepdims=True))


@library_jit("axis")
def log_softmax(x: ArrayLike, axis: Any = -1, where: ArrayLike | None = None,
                initial: ArrayLike | None = None) -> Value:
    """Return the logarithm of `softmax`, without overflow.

    >>> nn.log_softmax(jnp.array([0.0, 0.0]))
    Array([-0.6931472, -0.6931472], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.log_softmax.html.
    """
    check_arraylike("log_softmax", x)
    x = jnp.asarray(x)
    largest = jnp.max(x, axis, where=where, initial=-jnp.inf, keepdims=True)
    safe = x if where is None else jnp.where(where, x, -jnp.inf)
    shifted = safe - lax.stop_gradient(largest)
    result = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True))
    return result if where is None else jnp.where(where, result, -jnp.inf)


@library_jit("axis")
def standardize(x: ArrayLike, axis: Any = -1, mean: ArrayLike | None = None, variance: ArrayLike | None = None,
                epsilon: ArrayLike = 1e-5, where: ArrayLike | None = None) -> Value:
    """Return `x` less its mean, divided by its standard deviation, both over `axis` or as given.

    >>> nn.standardize(jnp.array([1.0, 3.0]))
    Array([-0.999995,  0.999995], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.standardize.html.
    """
    check_arraylike("standardize", x)
    check_arraylike_or_none("standardize", mean, variance, where)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        variance = jnp.mean(jnp.square(x), axis, keepdims=True, where=where) - jnp.square(mean)
    return jnp.subtract(x, jnp.asarray(mean)) * lax.rsqrt(jnp.asarray(variance) + epsilon)


def one_hot(x: ArrayLike, num_classes: int, *, dtype: DTypeLike = jnp.float_, axis: int = -1) -> Value:
    """Return, for each integer k in `x`, a vector of `num_classes` zeros with a 1 at k, along the new `axis`.

    >>> nn.one_hot(jnp.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.one_hot.html.
    """
    num_classes = concrete_index(num_classes, "The error arose in jax.nn.one_hot argument `num_classes`.")
    return _one_hot(x, num_classes, dtype=dtype, axis=axis)


@library_jit("num_classes", "dtype", "axis")
def _one_hot(x: ArrayLike, num_classes: int, *, dtype: DTypeLike, axis: int) -> Value:
    x = jnp.asarray(x)
    place = canonicalize_axis(axis, x.ndim + 1)
    shape = [num_classes if i == place else 1 for i in range(x.ndim + 1)]
    hot = lax.expand_dims(x, (axis,)) == lax.broadcasted_iota(x.dtype, shape, place)
    return jnp.asarray(hot, dtype=canonicalize_dtype(dtype))
