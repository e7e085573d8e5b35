"""Initializers: functions `init(key, shape, dtype)` that draw the first weights of a network."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import tinytrace.numpy as jnp
from tinytrace import lax, random
from tinytrace.core.avals import canonicalize_shape
from tinytrace.core.dtypes import canonicalize_dtype, is_complex, part_dtype
from tinytrace.numpy.promotion import ArrayLike, DTypeLike, Value

Initializer: TypeAlias = Callable[..., Value]


def zeros(key: Value, shape: Any, dtype: DTypeLike = jnp.float_) -> Value:
    """Return zeros; `key` is not used.

    >>> nn.initializers.zeros(random.PRNGKey(0), (2,))
    Array([0., 0.], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers.zeros.html.
    """
    return jnp.zeros(shape, canonicalize_dtype(dtype))


def ones(key: Value, shape: Any, dtype: DTypeLike = jnp.float_) -> Value:
    """Return ones; `key` is not used.

    >>> nn.initializers.ones(random.PRNGKey(0), (2,))
    Array([1., 1.], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers.ones.html.
    """
    return jnp.ones(shape, canonicalize_dtype(dtype))


def constant(value: ArrayLike, dtype: DTypeLike = jnp.float_) -> Initializer:
    """Return an initializer that gives `value` everywhere.

    >>> nn.initializers.constant(7)(random.PRNGKey(0), (2,))
    Array([7., 7.], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers.constant.html.
    """

    def init(key: Value, shape: Any, dtype: DTypeLike = dtype) -> Value:
        return jnp.full(shape, value, dtype=canonicalize_dtype(dtype))

    return init


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike = jnp.float_) -> Initializer:
    """Return an initializer that draws from [0, scale).

    >>> nn.initializers.uniform(10.0)(random.PRNGKey(0), (2,)).shape
    (2,)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers.uniform.html.
    """

    def init(key: Value, shape: Any, dtype: DTypeLike = dtype) -> Value:
        dtype = canonicalize_dtype(dtype)
        return random.uniform(key, shape, dtype) * jnp.array(scale, dtype)

    return init


def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike = jnp.float_) -> Initializer:
    """Return an initializer that draws from the normal distribution with mean 0.

    >>> nn.initializers.normal(5.0)(random.PRNGKey(0), (2,)).shape
    (2,)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers.normal.html.
    """

    def init(key: Value, shape: Any, dtype: DTypeLike = dtype) -> Value:
        dtype = canonicalize_dtype(dtype)
        return random.normal(key, shape, dtype) * jnp.array(stddev, dtype)

    return init


def truncated_normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike = jnp.float_, lower: ArrayLike = -2.0,
                     upper: ArrayLike = 2.0) -> Initializer:
    """Return an initializer that draws from the normal distribution, cut off at `lower` and `upper` deviations.

    >>> nn.initializers.truncated_normal(5.0)(random.PRNGKey(0), (2,)).shape
    (2,)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers.truncated_normal.html.
    """

    def init(key: Value, shape: Any, dtype: DTypeLike = dtype) -> Value:
        dtype = canonicalize_dtype(dtype)
        return random.truncated_normal(key, lower, upper, shape, dtype) * jnp.array(stddev, dtype)

    return init


def variance_scaling(scale: float, mode: str, distribution: str, in_axis: Any = -2, out_axis: Any = -1,
                     batch_axis: Any = (), dtype: DTypeLike = jnp.float_) -> Initializer:
    """Return an initializer whose variance is `scale` over the number of inputs, of outputs, or their mean.

    mode: "fan_in", "fan_out" or "fan_avg"; distribution: "truncated_normal", "normal" or "uniform".

    >>> nn.initializers.variance_scaling(2.0, "fan_in", "normal")(random.PRNGKey(0), (2, 3)).shape
    (2, 3)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers.variance_scaling.html.
    """

    def init(key: Value, shape: Any, dtype: DTypeLike = dtype) -> Value:
        shape, dtype = canonicalize_shape(shape), canonicalize_dtype(dtype)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        fans = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}
        if mode not in fans:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        variance = jnp.array(scale / fans[mode], dtype=dtype)
        if distribution == "truncated_normal" and is_complex(dtype):
            # the deviation of a standard normal complex variable whose length is cut off at 2
            return _in_a_disk(key, shape, dtype, 2) * (jnp.sqrt(variance) / jnp.array(0.95311164380491208, dtype))
        if distribution == "truncated_normal":
            # the deviation of a standard normal variable that is cut off at -2 and 2
            stddev = jnp.sqrt(variance) / jnp.array(0.87962566103423978, dtype)
            return random.truncated_normal(key, -2, 2, shape, dtype) * stddev
        if distribution == "normal":
            return random.normal(key, shape, dtype) * jnp.sqrt(variance)
        if distribution == "uniform" and is_complex(dtype):
            return _in_a_disk(key, shape, dtype, None) * jnp.sqrt(variance)
        if distribution == "uniform":
            return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
        raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")

    return init


def _in_a_disk(key: Value, shape: Any, dtype: Any, upper: float | None) -> Value:
    """Draw complex numbers around 0: uniform in a disk, with variance 1; or normal, with lengths cut off at `upper`."""
    for_length, for_angle = random.split(key)
    part = part_dtype(dtype)
    drawn = random.uniform(for_length, shape, part)
    if upper is None:
        length = jnp.sqrt(2 * drawn).astype(dtype)
    else:
        length = jnp.sqrt(-jnp.log(1 - (1 - jnp.exp(jnp.array(-(upper ** 2), dtype))) * drawn.astype(dtype)))
    angle = 2 * jnp.pi * random.uniform(for_angle, shape, part).astype(dtype)
    return length * jnp.exp(1j * angle)


def orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = jnp.float_) -> Initializer:
    """Return an initializer of matrices whose columns (or rows, where there are fewer) are orthogonal, times `scale`.

    >>> nn.initializers.orthogonal()(random.PRNGKey(0), (2, 3)).shape
    (2, 3)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers.orthogonal.html.
    """

    def init(key: Value, shape: Any, dtype: DTypeLike = dtype) -> Value:
        shape, dtype = canonicalize_shape(shape), canonicalize_dtype(dtype)
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        drawn = random.normal(key, (max(rows, columns), min(rows, columns)), dtype)
        q, r = jnp.linalg.qr(drawn)
        q = q * lax.broadcast_to_rank(jnp.sign(jnp.diag(r)), rank=q.ndim)
        q = q.T if rows < columns else q
        others = tuple(n for i, n in enumerate(shape) if i != column_axis % len(shape))
        return jnp.array(scale, dtype) * jnp.moveaxis(jnp.reshape(q, (*others, columns)), -1, column_axis)

    return init


def delta_orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = jnp.float_) -> Initializer:
    """Return an initializer of convolutions that are `orthogonal` in the middle of the window, and zero elsewhere.

    >>> nn.initializers.delta_orthogonal()(random.PRNGKey(0), (3, 2, 2)).shape
    (3, 2, 2)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers.delta_orthogonal.html.
    """

    def init(key: Value, shape: Any, dtype: DTypeLike = dtype) -> Value:
        shape, dtype = canonicalize_shape(shape), canonicalize_dtype(dtype)
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if shape[-1] < shape[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        return jnp.zeros(shape, dtype=dtype).at[(*middle, ...)].set(matrix)

    return init


def _fans(shape: tuple[int, ...], in_axis: Any, out_axis: Any, batch_axis: Any) -> tuple[float, float]:
    """Return how many inputs each output has, and how many outputs each input."""
    if len(shape) <= 1:
        raise ValueError(f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor. Must be "
                         "at least 2D.")

    def size(axes: int | Sequence[int]) -> int:
        return math.prod(shape[i] for i in ([axes] if isinstance(axes, int) else axes))

    field = math.prod(shape) / size(in_axis) / size(out_axis) / size(batch_axis)
    return size(in_axis) * field, size(out_axis) * field


def _scaled(name: str, scale: float, mode: str, distribution: str, summary: str) -> Callable[..., Initializer]:
    """Return `variance_scaling` with its first three arguments chosen."""

    def initializer(in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = (),
                    dtype: DTypeLike = jnp.float_) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis=in_axis, out_axis=out_axis, batch_axis=batch_axis,
                                dtype=dtype)

    initializer.__name__ = initializer.__qualname__ = name
    initializer.__doc__ = (
        f"Return {summary}: `variance_scaling({scale}, {mode!r}, {distribution!r})`.\n\n"
        f"    >>> nn.initializers.{name}()(random.PRNGKey(0), (2, 3)).shape\n    (2, 3)\n\n"
        f"    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.initializers.{name}.html.\n    ")
    return initializer


glorot_uniform = _scaled("glorot_uniform", 1.0, "fan_avg", "uniform", "the initializer of Glorot and Bengio, uniform")
glorot_normal = _scaled("glorot_normal", 1.0, "fan_avg", "truncated_normal",
                        "the initializer of Glorot and Bengio, normal")
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform", "the initializer of LeCun, uniform")
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "truncated_normal", "the initializer of LeCun, normal")
he_uniform = _scaled("he_uniform", 2.0, "fan_in", "uniform", "the initializer of He et al., uniform")
he_normal = _scaled("he_normal", 2.0, "fan_in", "truncated_normal", "the initializer of He et al., normal")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform",
    "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal",
    "truncated_normal", "uniform", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros",
]
