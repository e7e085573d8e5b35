"""The cost of a call: dispatch, pytrees, statics, eager operations, retracing, tracing and printing."""
from __future__ import annotations

import itertools

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal, waiting

EIGHT = lambda: (normal(8),)  # noqa: E731


def _ten_jax(jax, jnp, x) -> Call:
    f = jax.jit(lambda a, b, c, d, e, f, g, h, i, j: a + j)
    return waiting(f, *[x] * 10)


def _dict_jax(jax, jnp, x) -> Call:
    f = jax.jit(lambda d: {k: v + 1 for k, v in d.items()})
    tree = {f"p{i}": x + i for i in range(10)}

    def call():
        out = f(tree)
        out["p9"].block_until_ready()
        return list(out.values())
    return call


def _static_jax(jax, jnp, x) -> Call:
    f = jax.jit(lambda x, flag: x + 1 if flag else x - 1, static_argnums=1)
    flags = itertools.cycle([True, False])
    return lambda: f(x, next(flags)).block_until_ready()


add(Line("call x+1 f32[8]", 0.3, EIGHT, lambda jax, jnp, x: waiting(jax.jit(lambda x: x + 1), x), quick=True))
add(Line("call with ten arguments", 0.35, EIGHT, _ten_jax, quick=True))
add(Line("call with a dict of ten", 0.5, EIGHT, _dict_jax, quick=True))
add(Line("call with an alternating static flag", 0.4, EIGHT, _static_jax, compare=False, quick=True))
add(Line("jnp.add of two f32[8] (not jitted)", 0.5, EIGHT,
         lambda jax, jnp, x: lambda: jnp.add(x, x).block_until_ready()))


def _lambdas_jax(jax, jnp, x) -> Call:
    def call():
        y = x
        for _ in range(20):
            y = jax.jit(lambda x: x + 1)(y)
        return y.block_until_ready()
    return call


add(Line("twenty turns of jit(lambda)", 0.1, EIGHT, _lambdas_jax, quick=True))


def _long(jnp, x, n):
    for _ in range(n // 2):
        x = jnp.sin(x) * 2
    return x


def _make_jaxpr(jax, jnp, x) -> Call:
    def call():
        jax.make_jaxpr(lambda x: _long(jnp, x, 1000))(x)
        return 0.0
    return call


def _print_jaxpr(jax, jnp, x) -> Call:
    jaxpr = jax.make_jaxpr(lambda x: _long(jnp, x, 1000))(x)
    return lambda: float(len(str(jaxpr)))


add(Line("make_jaxpr of 1000 equations", 1.0, EIGHT, _make_jaxpr, quick=True))
add(Line("str of 1000 equations", 1.0, EIGHT, _print_jaxpr, compare=False, quick=True))


# --- the first call in a running process: every call has a text that no cache has seen ---

_fresh = np.random.default_rng()  # one of millions of float32: earlier runs leave programs on disk


def _first_jax(build):
    def make(jax, jnp, x) -> Call:
        def call():
            constant = 1.0 + _fresh.random()
            out = build(jax, jnp, constant)(x)
            return [leaf.block_until_ready() for leaf in jax.tree_util.tree_leaves(out)]
        return call
    return make


def _first_mlp(jax, jnp, constant):
    sizes = (8, 16, 16, 4)
    params = [(jnp.ones((n, m)) * 0.1, jnp.zeros(m)) for n, m in itertools.pairwise(sizes)]

    def loss(params, x):
        for w, b in params:
            x = jnp.tanh(x @ w + b) * constant
        return jnp.sum(x ** 2)

    def step(x):
        grads = jax.grad(loss)(params, x)
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)
    return jax.jit(step)


def _first_deep(jax, jnp, constant):
    params = [(jnp.ones((16, 16)) * 0.1, jnp.zeros(16)) for _ in range(20)]

    def loss(params, x):
        for w, b in params:
            x = jnp.tanh(x @ w + b) * constant
        return jnp.sum(x ** 2)
    gradient = jax.jit(jax.grad(loss))
    return lambda x: gradient(params, jnp.concatenate([x, x]))


def _block(jax, jnp, params, x):
    """One block of a transformer: x: f32[16, 32], four heads."""
    def norm(x):
        return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)

    q, k, v = ((norm(x) @ params[name]).reshape(16, 4, 8).transpose(1, 0, 2) for name in "qkv")
    weights = jax.nn.softmax(jnp.where(jnp.tri(16) > 0, q @ k.transpose(0, 2, 1), -1e9))
    x = x + (weights @ v).transpose(1, 0, 2).reshape(16, 32) @ params["o"]
    return x + jax.nn.gelu(norm(x) @ params["up"]) @ params["down"]


def _first_block(jax, jnp, constant):
    shapes = {**dict.fromkeys("qkvo", (32, 32)), "up": (32, 128), "down": (128, 32)}
    params = {name: jnp.ones(shape) * 0.1 for name, shape in shapes.items()}

    def loss(params, x):
        return jnp.sum(_block(jax, jnp, params, x) * constant)
    gradient = jax.jit(jax.grad(loss))
    return lambda x: gradient(params, jnp.tile(x, (16, 4)))


add(Line("first call in a running process: x+1", 0.8, EIGHT,
         _first_jax(lambda jax, jnp, c: jax.jit(lambda x: x + c)), compare=False))
add(Line("first call in a running process: sum of x*c", 0.8, EIGHT,  # the smallest that has to be compiled
         _first_jax(lambda jax, jnp, c: jax.jit(lambda x: jnp.sum(x * c))), compare=False))
add(Line("first call in a running process: MLP step", 0.6, EIGHT, _first_jax(_first_mlp), compare=False))
add(Line("first call in a running process: gradient of 20 layers", 0.6, EIGHT, _first_jax(_first_deep), compare=False))
add(Line("first call in a running process: softmax", 0.8, EIGHT,
         _first_jax(lambda jax, jnp, c: jax.jit(lambda x: jax.nn.softmax(jnp.tile(x, (64, 2)) * c))), compare=False))
add(Line("first call in a running process: gradient of a transformer block", 0.6, EIGHT, _first_jax(_first_block),
         compare=False))
add(Line("first call in a running process: chain of 1000", 0.6, EIGHT,
         _first_jax(lambda jax, jnp, c: jax.jit(lambda x: _long(jnp, x * c, 1000))), compare=False))
