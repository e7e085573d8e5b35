"""Matrix products, and the networks made of them."""
from __future__ import annotations

import itertools

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal, waiting


def _matmul_torch(a, b) -> Call:
    import torch
    return lambda: torch.matmul(a, b)


def _matmul(name: str, target: float, shape: tuple[int, ...], quick: bool = False) -> None:
    n = shape[-1]
    count = int(np.prod(shape[:-2]))
    add(Line(name, target, lambda: (normal(*shape), normal(*shape, seed=1)),
             lambda jax, jnp, a, b: waiting(jax.jit(lambda a, b: a @ b), a, b), _matmul_torch, None,
             lambda a, b: lambda: a @ b, flops=2.0 * count * n**3, bytes=12.0 * count * n * n, tolerance=1e-2,
             quick=quick))


_matmul("matmul 1024^3", 1.02, (1024, 1024))
_matmul("matmul batched 64x128^3", 1.0, (64, 128, 128))
_matmul("matmul 128^3", 0.5, (128, 128), quick=True)

SIZES = (784, 512, 512, 10)


def _network() -> tuple[np.ndarray, ...]:
    weights = []
    for i, (n, m) in enumerate(itertools.pairwise(SIZES)):
        weights += [normal(n, m, seed=i, scale=n**-0.5), normal(m, seed=10 + i, scale=0.1)]
    labels = np.eye(10, dtype=np.float32)[np.arange(256) % 10]
    return (*weights, normal(256, 784, seed=20), labels)


def _forward(maximum, w1, b1, w2, b2, w3, b3, x):
    h = maximum(x @ w1 + b1, 0)
    h = maximum(h @ w2 + b2, 0)
    return h @ w3 + b3


def _forward_jax(jax, jnp, *args) -> Call:
    return waiting(jax.jit(lambda *a: _forward(jnp.maximum, *a)), *args[:7])


def _forward_torch(*args) -> Call:
    import torch
    f = torch.compile(lambda *a: _forward(lambda x, _: torch.relu(x), *a))
    return lambda: f(*args[:7])


def _step_jax(jax, jnp, *args) -> Call:
    params, x, y = list(args[:6]), args[6], args[7]

    def loss(params, x, y):
        logits = _forward(jnp.maximum, *params, x)
        return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(logits), axis=1))

    @jax.jit
    def step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return value, [p - 0.01 * g for p, g in zip(params, grads, strict=True)]

    def call():
        value, new = step(params, x, y)
        return [value, *[p.block_until_ready() for p in new]]
    return call


def _step_torch(*args) -> Call:
    import torch
    params, x, y = list(args[:6]), args[6], args[7]

    def loss(params, x, y):
        logits = _forward(lambda x, _: torch.relu(x), *params, x)
        return -torch.mean(torch.sum(y * torch.log_softmax(logits, 1), 1))

    @torch.compile
    def step(params, x, y):
        grads, value = torch.func.grad_and_value(loss)(params, x, y)
        return value, [p - 0.01 * g for p, g in zip(params, grads, strict=True)]

    def call():
        value, new = step(params, x, y)
        return [value, *new]
    return call


_FLOPS = 2.0 * 256 * (784 * 512 + 512 * 512 + 512 * 10)
add(Line("MLP 784-512-512-10 batch 256: forward", 1.0, _network, _forward_jax, _forward_torch, flops=_FLOPS,
         tolerance=1e-3, quick=True))
add(Line("MLP 784-512-512-10 batch 256: value_and_grad + SGD", 1.0, _network, _step_jax, _step_torch,
         flops=3 * _FLOPS, tolerance=1e-3))
