"""Activation functions: what stands between the layers of a neural network."""
from __future__ import annotations

import numpy as np

import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.api.custom_rules import custom_jvp
from tinytrace.api.library import library_jit, remembered
from tinytrace.numpy.promotion import ArrayLike, Value, check_arraylike, promote_args_inexact


@custom_jvp
@library_jit(elementwise=True)
def relu(x: ArrayLike) -> Value:
    """Return `max(x, 0)`, whose derivative at 0 is 0.

    >>> nn.relu(jnp.array([-1.0, 2.0]))
    Array([0., 2.], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.relu.html.
    """
    return jnp.maximum(x, 0)


relu.defjvps(lambda g, out, x: lax.select(x > 0, g, lax.full_like(g, 0)))


@custom_jvp
@library_jit(elementwise=True)
def relu6(x: ArrayLike) -> Value:
    """Return `min(max(x, 0), 6)`, whose derivative at 0 and 6 is 0.

    >>> nn.relu6(jnp.array([-1.0, 2.0, 9.0]))
    Array([0., 2., 6.], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.relu6.html.
    """
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


relu6.defjvps(lambda g, out, x: lax.select((x > 0) & (x < 6), g, lax.full_like(g, 0)))


def sigmoid(x: ArrayLike) -> Value:
    """Return `1 / (1 + exp(-x))`.

    >>> nn.sigmoid(0.0)
    Array(0.5, dtype=float32, weak_type=True)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.sigmoid.html.
    """
    return lax.logistic(x)


def tanh(x: ArrayLike) -> Value:
    """Return the hyperbolic tangent.

    >>> nn.tanh(0.0)
    Array(0., dtype=float32, weak_type=True)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.tanh.html.
    """
    return jnp.tanh(x)


@library_jit(elementwise=True)
def softplus(x: ArrayLike) -> Value:
    """Return `log(1 + exp(x))`: a smooth relu.

    >>> nn.softplus(0.0)
    Array(0.6931472, dtype=float32, weak_type=True)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.softplus.html.
    """
    return jnp.logaddexp(x, 0)


@library_jit(elementwise=True)
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Value:
    """Return `(x + sqrt(x**2 + b)) / 2`: a smooth relu without exponentials.

    >>> nn.squareplus(0.0)
    Array(1., dtype=float32, weak_type=True)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.squareplus.html.
    """
    check_arraylike("squareplus", x, b)
    x = jnp.asarray(x)
    return (x + jnp.sqrt(jnp.square(x) + jnp.asarray(b))) / 2


@library_jit(elementwise=True)
def sparse_plus(x: ArrayLike) -> Value:
    """Return 0 below -1, x above 1, and a parabola between.

    >>> nn.sparse_plus(jnp.array([-2.0, 0.0, 2.0]))
    Array([0.  , 0.25, 2.  ], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.sparse_plus.html.
    """
    check_arraylike("sparse_plus", x)
    x = jnp.asarray(x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@library_jit(elementwise=True)
def sparse_sigmoid(x: ArrayLike) -> Value:
    """Return 0 below -1, 1 above 1, and a line between.

    >>> nn.sparse_sigmoid(jnp.array([-2.0, 0.0, 2.0]))
    Array([0. , 0.5, 1. ], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.sparse_sigmoid.html.
    """
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


@library_jit(elementwise=True)
def soft_sign(x: ArrayLike) -> Value:
    """Return `x / (|x| + 1)`.

    >>> nn.soft_sign(jnp.array([-1.0, 3.0]))
    Array([-0.5 ,  0.75], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.soft_sign.html.
    """
    check_arraylike("soft_sign", x)
    x = jnp.asarray(x)
    return x / (jnp.abs(x) + 1)


@library_jit(elementwise=True)
def silu(x: ArrayLike) -> Value:
    """Return `x * sigmoid(x)`; also called swish.

    >>> nn.silu(jnp.array([-1.0, 0.0]))
    Array([-0.26894143,  0.        ], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.silu.html.
    """
    check_arraylike("silu", x)
    x = jnp.asarray(x)
    return x * sigmoid(x)


swish = silu


@library_jit(elementwise=True)
def mish(x: ArrayLike) -> Value:
    """Return `x * tanh(softplus(x))`.

    >>> nn.mish(jnp.array([-1.0, 0.0]))
    Array([-0.30340144,  0.        ], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.mish.html.
    """
    check_arraylike("mish", x)
    x = jnp.asarray(x)
    return x * jnp.tanh(softplus(x))


@library_jit(elementwise=True)
def log_sigmoid(x: ArrayLike) -> Value:
    """Return `log(sigmoid(x))` without overflow.

    >>> nn.log_sigmoid(0.0)
    Array(-0.6931472, dtype=float32, weak_type=True)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.log_sigmoid.html.
    """
    check_arraylike("log_sigmoid", x)
    return -softplus(-jnp.asarray(x))


@library_jit(elementwise=True)
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Value:
    """Return x above 0 and `alpha * (exp(x) - 1)` below.

    >>> nn.elu(jnp.array([-1.0, 2.0]))
    Array([-0.63212055,  2.        ], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.elu.html.
    """
    check_arraylike("elu", x)
    x = jnp.asarray(x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


@library_jit(elementwise=True)
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Value:
    """Return x above 0 and `alpha * (exp(x / alpha) - 1)` below.

    >>> nn.celu(jnp.array([-1.0, 2.0]))
    Array([-0.63212055,  2.        ], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.celu.html.
    """
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@library_jit(elementwise=True)
def selu(x: ArrayLike) -> Value:
    """Return `elu`, scaled so that activations keep mean 0 and variance 1 (Klambauer et al., 2017).

    >>> nn.selu(jnp.array([-1.0, 2.0]))
    Array([-1.1113307,  2.101402 ], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.selu.html.
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


@library_jit(elementwise=True)
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Value:
    """Return x above 0 and `negative_slope * x` below.

    >>> nn.leaky_relu(jnp.array([-1.0, 2.0]))
    Array([-0.01,  2.  ], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.leaky_relu.html.
    """
    check_arraylike("leaky_relu", x)
    x = jnp.asarray(x)
    return jnp.where(x >= 0, x, negative_slope * x)


@library_jit(elementwise=True)
def hard_tanh(x: ArrayLike) -> Value:
    """Return x, brought into [-1, 1].

    >>> nn.hard_tanh(jnp.array([-3.0, 0.5]))
    Array([-1. ,  0.5], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.hard_tanh.html.
    """
    check_arraylike("hard_tanh", x)
    x = jnp.asarray(x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@library_jit(elementwise=True)
def hard_sigmoid(x: ArrayLike) -> Value:
    """Return `relu6(x + 3) / 6`.

    >>> nn.hard_sigmoid(jnp.array([-3.0, 0.0]))
    Array([0. , 0.5], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.hard_sigmoid.html.
    """
    return relu6(x + 3.0) / 6.0


@library_jit(elementwise=True)
def hard_silu(x: ArrayLike) -> Value:
    """Return `x * hard_sigmoid(x)`; also called hard swish.

    >>> nn.hard_silu(jnp.array([-3.0, 1.0]))
    Array([-0.       ,  0.6666667], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.hard_silu.html.
    """
    check_arraylike("hard_silu", x)
    x = jnp.asarray(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@remembered("approximate", elementwise=True)
def gelu(x: ArrayLike, approximate: bool = True) -> Value:
    """Return x times the probability that a normal variable is below x, by tanh or (not `approximate`) by erf.

    >>> nn.gelu(jnp.array([-1.0, 1.0]))
    Array([-0.15880796,  0.841192  ], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.gelu.html.
    """
    x, = promote_args_inexact("gelu", x)
    if approximate:
        scale = np.sqrt(2 / np.pi).astype(x.dtype)
        return x * (0.5 * (1.0 + jnp.tanh(scale * (x + 0.044715 * (x ** 3)))))
    half = np.sqrt(0.5).astype(x.dtype)
    return jnp.array(0.5 * x * lax.erfc(-x * half), dtype=x.dtype)


@library_jit("axis")
def glu(x: ArrayLike, axis: int = -1) -> Value:
    """Return the first half of `x` along `axis`, times the sigmoid of the second.

    >>> nn.glu(jnp.array([1.0, 0.0]))
    Array([0.5], dtype=float32)

    See https://jax.readthedocs.io/en/latest/_autosummary/jax.nn.glu.html.
    """
    check_arraylike("glu", x)
    x = jnp.asarray(x)
    if x.shape[axis] % 2:
        raise AssertionError("axis size must be divisible by 2")
    first, second = jnp.split(x, 2, axis)
    return first * sigmoid(second)

