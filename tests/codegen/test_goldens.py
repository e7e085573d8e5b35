"""The kernels and the C of programs that everybody knows, as they stand in `tests/goldens/c`; read them.

`pytest tests/codegen/test_goldens.py --update-golden` writes them anew; the difference is then the review.
"""

import re

import numpy as np
import pytest

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen.test_programs import generated

lax = jax.lax


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, np.float32)


def i32(*shape):
    return jax.ShapeDtypeStruct(shape, np.int32)


def selu(x):
    return 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)


def softmax(x):
    e = jnp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, gain, bias):
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * gain + bias


def dense_relu(x, w, b):
    return jnp.maximum(x @ w + b, 0)


def scan_rnn(w, xs, h):
    def step(h, x):
        h = jnp.tanh(w @ h + x)
        return h, h

    return lax.scan(step, h, xs)


def heat(u):
    def step(i, u):
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].add(0.1 * (around - 4 * u[1:-1, 1:-1]))

    return lax.fori_loop(0, 100, step, u)


def mandelbrot(x, y):
    def step(i, state):
        re, im, count = state
        inside = re * re + im * im < 4
        new = re * re - im * im + x, 2 * re * im + y
        return jnp.where(inside, new[0], re), jnp.where(inside, new[1], im), count + inside

    return lax.fori_loop(0, 100, step, (jnp.zeros_like(x), jnp.zeros_like(x), jnp.zeros(x.shape, jnp.int32)))[2]


def n_body(x, mass):
    d = x[None] - x[:, None]
    r2 = (d * d).sum(-1) + 1e-3
    return (d * (mass / (r2 * jnp.sqrt(r2)))[..., None]).sum(1)


def nearest(points, centres):
    return jnp.argmin(((points[:, None] - centres) ** 2).sum(-1), axis=1)


def collatz(n):
    def step(state):
        n, steps = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return lax.while_loop(lambda state: state[0] > 1, step, (n, 0))[1]


def piecewise(x):
    return lax.cond(x.sum() > 0, lambda x: x * 2, lambda x: jnp.cumsum(x), x)


def embedding(table, index):
    return table[index] * 2


def segment_sum(x, segment):
    return jnp.zeros((10, 64)).at[segment].add(x)


def fill_rows(x):
    return lax.fori_loop(1, 100, lambda i, x: x.at[i].set(jnp.sin(x[i - 1])), x)


def convolution(x, w, groups=1):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


PROGRAMS = {
    "selu": (selu, f32(1000000)),
    "softmax": (softmax, f32(4096, 1024)),
    "layer_norm": (layer_norm, f32(4096, 1024), f32(1024), f32(1024)),
    "sum_all": (lambda x: x.sum(), f32(4096, 4096)),
    "sum_columns": (lambda x: x.sum(0), f32(4096, 4096)),
    "max_and_mean_of_rows": (lambda x: (x.max(1), x.mean(1)), f32(4096, 4096)),
    "argmax_of_rows": (lambda x: x.argmax(1), f32(4096, 4096)),
    "mean_and_variance": (lambda x: (x.mean(), x.var()), f32(4096, 4096)),
    "cumsum": (lambda x: jnp.cumsum(x, 1), f32(8, 1000)),
    "cumsum_in_pieces": (lambda x: jnp.cumsum(x), f32(1 << 20)),
    "dense_relu": (dense_relu, f32(256, 784), f32(784, 512), f32(512)),
    "dense_gradient": (jax.grad(lambda w, x, b: dense_relu(x, w, b).sum()), f32(784, 512), f32(256, 784), f32(512)),
    "convolution": (convolution, f32(1, 66, 66, 8), f32(3, 3, 8, 16)),
    "depthwise": (lambda x, w: convolution(x, w, 32), f32(1, 66, 66, 32), f32(3, 3, 1, 32)),
    "batched_products": (lambda x: x @ x, f32(64, 128, 128)),
    "scan_rnn": (scan_rnn, f32(64, 64), f32(1000, 64), f32(64)),
    "heat": (heat, f32(1024, 1024)),
    "mandelbrot": (mandelbrot, f32(512, 500), f32(512, 500)),
    "n_body": (n_body, f32(1024, 3), f32(1024)),
    "nearest": (nearest, f32(20000, 16), f32(64, 16)),
    "collatz": (collatz, i32()),
    "piecewise": (piecewise, f32(100)),
    "embedding": (embedding, f32(1000, 64), i32(100)),
    "segment_sum": (segment_sum, f32(1000, 64), i32(1000)),
    "segment_sum_in_pieces": (segment_sum, f32(100000, 64), i32(100000)),
    "fill_rows": (fill_rows, f32(100, 50)),
    "join": (lambda x, y: jnp.concatenate([jnp.pad(x, 3), y.T]), f32(50, 94), f32(100, 20)),
    "half": (lambda x, y: (x * y).sum(1), jax.ShapeDtypeStruct((64, 100), np.float16),
             jax.ShapeDtypeStruct((64, 100), np.float16)),
    "half_strips": (lambda x: jnp.maximum(x * 2 + 1, x) * x, jax.ShapeDtypeStruct((5000,), np.float16)),
    "bfloat16_strips": (lambda x: jnp.maximum(x * 2 + 1, x) * x, jax.ShapeDtypeStruct((5000,), jnp.bfloat16)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_c_as_on_file(name, golden):
    function, *args = PROGRAMS[name]
    program = generated(function, *args)
    own = re.search(r"(static void tt_kernel_0|int32_t tt_entry)\(.*", program.source.text, re.DOTALL)[0]
    golden(f"c/{name}.c", own)


@pytest.mark.parametrize(("name", "loops"), [
    ("selu", 1), ("softmax", 1), ("layer_norm", 1), ("max_and_mean_of_rows", 1), ("argmax_of_rows", 1), ("n_body", 1),
    ("nearest", 1), ("mandelbrot", 1), ("join", 1),
])
def test_so_many_kernels(name, loops):
    function, *args = PROGRAMS[name]
    assert len([kernel for kernel in generated(function, *args).kernels if kernel.equations]) == loops


def test_kernels_say_what_they_cost():
    kernel, = generated(selu, f32(1000000)).kernels
    assert str(kernel).splitlines()[0] == \
        "loop over 1000000: reads 4.00 MB, writes 4.00 MB, 6.00 Mflop, fusion saved 26.0 MB"
    assert len(str(kernel).splitlines()) == 6
