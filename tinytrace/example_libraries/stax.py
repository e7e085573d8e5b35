"""`jax.example_libraries.stax`: layers of neural networks as pairs of functions.

    init, apply = serial(Dense(128), Relu, Dense(10), LogSoftmax)
    out_shape, params = init(jax.random.key(0), (-1, 784))
    predictions = apply(params, inputs)

`init(rng, input_shape)` gives the shape of the output and the parameters; `apply(params, inputs, **kwargs)` the output.
Source: JAX 0.4.35.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import tinytrace.numpy as jnp
from tinytrace import lax, random
from tinytrace.api.shape_evaluation import eval_shape
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.nn import activations, initializers
from tinytrace.nn.softmax import log_softmax, softmax, standardize

Layer = tuple[Callable[..., Any], Callable[..., Any]]
Shape = tuple[int, ...]
Initializer = Callable[..., Any]


def Dense(out_dim: int, W_init: Initializer | None = None, b_init: Initializer | None = None) -> Layer:  # noqa: N802, N803
    """Return a layer `inputs @ W + b`.

    >>> init, apply = Dense(2)
    >>> shape, (W, b) = init(random.key(0), (5, 3))
    >>> shape, W.shape, apply((W, b), jnp.ones((5, 3))).shape
    ((5, 2), (3, 2), (5, 2))
    """
    make_w, make_b = W_init or initializers.glorot_normal(), b_init or initializers.normal()

    def init(rng: Any, input_shape: Shape) -> Any:
        k1, k2 = random.split(rng)
        return (*input_shape[:-1], out_dim), (make_w(k1, (input_shape[-1], out_dim)), make_b(k2, (out_dim,)))

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        w, b = params
        return jnp.dot(inputs, w) + b

    return init, apply


def GeneralConv(dimension_numbers: tuple[str, str, str], out_chan: int, filter_shape: Sequence[int],  # noqa: N802
                strides: Sequence[int] | None = None, padding: Any = "VALID",
                W_init: Initializer | None = None, b_init: Initializer | None = None) -> Layer:  # noqa: N803
    """Return a layer that convolves; `dimension_numbers` say what the axes of input, filter and output are."""
    one = (1,) * len(filter_shape)

    def convolved(inputs: Any, w: Any) -> Any:
        return lax.conv_general_dilated(inputs, w, strides or one, padding, one, one,
                                        dimension_numbers=dimension_numbers)

    return _convolution(dimension_numbers, out_chan, filter_shape, W_init, b_init, convolved)


def GeneralConvTranspose(dimension_numbers: tuple[str, str, str], out_chan: int,  # noqa: N802
                         filter_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = "VALID",
                         W_init: Initializer | None = None, b_init: Initializer | None = None) -> Layer:  # noqa: N803
    """Return a layer that convolves with fractional strides."""
    one = (1,) * len(filter_shape)

    def convolved(inputs: Any, w: Any) -> Any:
        return lax.conv_transpose(inputs, w, strides or one, padding, dimension_numbers=dimension_numbers)

    return _convolution(dimension_numbers, out_chan, filter_shape, W_init, b_init, convolved)


def _convolution(dimension_numbers: tuple[str, str, str], out_chan: int, filter_shape: Sequence[int],
                 w_init: Initializer | None, b_init: Initializer | None, convolved: Callable[..., Any]) -> Layer:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    make_w = w_init or initializers.glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))
    make_b = b_init or initializers.normal(1e-6)

    def init(rng: Any, input_shape: Shape) -> Any:
        sizes = iter(filter_shape)
        kernel = [out_chan if c == "O" else input_shape[lhs_spec.index("C")] if c == "I" else next(sizes)
                  for c in rhs_spec]
        k1, k2 = random.split(rng)
        params = make_w(k1, kernel), make_b(k2, [out_chan if c == "C" else 1 for c in out_spec])
        known = tuple(1 if size < 0 else size for size in input_shape)
        out = eval_shape(convolved, ShapeDtypeStruct(known, params[0].dtype), params[0])
        batch = lhs_spec.index("N")
        return tuple(input_shape[batch] if c == "N" else d for c, d in zip(out_spec, out.shape, strict=True)), params

    return init, lambda params, inputs, **kwargs: convolved(inputs, params[0]) + params[1]


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(axis: Any = (0, 1, 2), epsilon: float = 1e-5, center: bool = True, scale: bool = True,  # noqa: N802
              beta_init: Initializer = initializers.zeros, gamma_init: Initializer = initializers.ones) -> Layer:
    """Return a layer whose outputs have mean 0 and variance 1 over `axis`, scaled and moved by parameters."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng: Any, input_shape: Shape) -> Any:
        shape = tuple(d for i, d in enumerate(input_shape) if i not in axes)
        k1, k2 = random.split(rng)
        return input_shape, (beta_init(k1, shape) if center else (), gamma_init(k2, shape) if scale else ())

    def apply(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        places = tuple(None if i in axes else slice(None) for i in range(jnp.ndim(x)))
        z = standardize(x, axes, epsilon=epsilon)
        z = gamma[places] * z if scale else z
        return z + beta[places] if center else z

    return init, apply


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """Return a layer without parameters that applies `fun`."""
    return (lambda rng, input_shape: (input_shape, ()),
            lambda params, inputs, **kwargs: fun(inputs, **fun_kwargs))


Tanh = elementwise(jnp.tanh)
Relu = elementwise(activations.relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(activations.softplus)
Sigmoid = elementwise(activations.sigmoid)
Elu = elementwise(activations.elu)
LeakyRelu = elementwise(activations.leaky_relu)
Selu = elementwise(activations.selu)
Gelu = elementwise(activations.gelu)
Identity = elementwise(lambda x: x)


def _pooling_layer(reducer: Callable[..., Any], init_val: float, average: bool = False) -> Callable[..., Layer]:
    def pooling(window_shape: Shape, strides: Shape | None = None, padding: Any = "VALID",
                spec: str | None = None) -> Layer:
        """Return a layer that folds windows; `spec` says what the axes are, such as "NHWC"."""
        others = sorted((0, len(window_shape) + 1) if spec is None else (spec.index("N"), spec.index("C")))
        window, steps = list(window_shape), list(strides or (1,) * len(window_shape))
        for i in others:
            window.insert(i, 1)
            steps.insert(i, 1)

        def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
            out = lax.reduce_window(inputs, init_val, reducer, window, steps, padding)
            if not average:
                return out
            ones = jnp.ones([1 if i in others else d for i, d in enumerate(inputs.shape)], inputs.dtype)
            return out / lax.reduce_window(ones, 0.0, lax.add, window, steps, padding)

        def init(rng: Any, input_shape: Shape) -> Any:
            known = ShapeDtypeStruct(tuple(1 if size < 0 else size for size in input_shape), jnp.float32)
            out = eval_shape(functools.partial(apply, ()), known).shape
            return tuple(size if size < 0 else d for size, d in zip(input_shape, out, strict=True)), ()

        return init, apply

    return pooling


MaxPool = _pooling_layer(lax.max, -jnp.inf)
SumPool = _pooling_layer(lax.add, 0.0)
AvgPool = _pooling_layer(lax.add, 0.0, average=True)
Flatten: Layer = (lambda rng, input_shape: ((input_shape[0], math.prod(input_shape[1:])), ()),
                  lambda params, inputs, **kwargs: jnp.reshape(inputs, (inputs.shape[0], -1)))


def FanOut(num: int) -> Layer:  # noqa: N802
    """Return a layer that hands its input on `num` times."""
    return (lambda rng, input_shape: ([input_shape] * num, ()),
            lambda params, inputs, **kwargs: [inputs] * num)


FanInSum: Layer = (lambda rng, input_shape: (input_shape[0], ()), lambda params, inputs, **kwargs: sum(inputs))


def FanInConcat(axis: int = -1) -> Layer:  # noqa: N802
    """Return a layer that joins its inputs along an axis."""
    def init(rng: Any, input_shape: Sequence[Shape]) -> Any:
        first, place = list(input_shape[0]), axis % len(input_shape[0])
        first[place] = sum(shape[place] for shape in input_shape)
        return tuple(first), ()

    return init, lambda params, inputs, **kwargs: jnp.concatenate(inputs, axis)


def Dropout(rate: float, mode: str = "train") -> Layer:  # noqa: N802
    """Return a layer that keeps inputs with probability `rate`, and applies it with a key `rng`."""
    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError("Dropout layer requires apply_fun to be called with a PRNG key argument. That is, instead "
                             "of `apply_fun(params, inputs)`, call it like `apply_fun(params, inputs, rng)` where "
                             "`rng` is a PRNG key (e.g. from `jax.random.key`).")
        return jnp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0) if mode == "train" else inputs

    return lambda rng, input_shape: (input_shape, ()), apply


# --- layers of layers ------------------------------------------------------------------------------------------

def _keys(rng: Any, count: int) -> Sequence[Any]:
    return (None,) * count if rng is None else random.split(rng, count)


def serial(*layers: Layer) -> Layer:
    """Return layers one after the other."""
    def init(rng: Any, input_shape: Shape) -> Any:
        params = []
        for layer_init, _ in layers:
            rng, layer_rng = random.split(rng)
            input_shape, param = layer_init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        for (_, layer_apply), param, rng in zip(layers, params, _keys(kwargs.pop("rng", None), len(layers)),
                                                strict=True):
            inputs = layer_apply(param, inputs, rng=rng, **kwargs)
        return inputs

    return init, apply


def parallel(*layers: Layer) -> Layer:
    """Return layers side by side, each for one of a sequence of inputs."""
    def init(rng: Any, input_shape: Sequence[Shape]) -> Any:
        rngs = random.split(rng, len(layers))
        pairs = [layer[0](key, shape) for layer, key, shape in zip(layers, rngs, input_shape, strict=True)]
        return tuple(shape for shape, _ in pairs), tuple(params for _, params in pairs)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rngs = _keys(kwargs.pop("rng", None), len(layers))
        return [layer[1](p, x, rng=rng, **kwargs)
                for layer, p, x, rng in zip(layers, params, inputs, rngs, strict=True)]

    return init, apply


def shape_dependent(make_layer: Callable[[Shape], Layer]) -> Layer:
    """Return a layer that is made when the shape of its input is known."""
    return (lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
            lambda params, inputs, **kwargs: make_layer(inputs.shape)[1](params, inputs, **kwargs))
