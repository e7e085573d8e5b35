"""Programs that nobody has jitted: operations one by one, their gradients, indices in Python loops, random numbers."""
from __future__ import annotations

import itertools

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal

SQUARES = lambda: (normal(16, 16), normal(16, 16))  # noqa: E731
VECTOR = lambda: (normal(1000),)  # noqa: E731


def _thirty(np_, x, y):
    """Thirty small operations, of all kinds."""
    a = x + y
    b = a * x
    c = b - y
    d = c / (abs(y) + 1)
    e = np_.sin(d)
    f = np_.exp(-abs(e))
    g = np_.tanh(f)
    h = np_.where(g > 0, g, e)
    i = h @ x
    j = i - np_.sum(i, axis=0)
    k = np_.maximum(j, 0)
    m = k * k.mean()
    n = np_.sqrt(abs(m)).T.reshape(-1)[3:200]
    o = np_.cos(np_.log(n + 1))
    return np_.sum(x[2] * np_.max(o ** 2))


add(Line("thirty small operations f32[16,16] (not jitted)", 1.0, SQUARES,
         lambda jax, jnp, x, y: lambda: _thirty(jnp, x, y).block_until_ready(),
         numpy=lambda x, y: lambda: _thirty(np, x, y), tolerance=2e-3, quick=True))


def _perceptron() -> tuple[np.ndarray, ...]:
    return normal(32, 64), normal(64, 128), normal(128, 128), normal(128, 10)


def _loss(tanh, x, weights):
    for w in weights[:-1]:
        x = tanh(x @ w * 0.1)
    return ((x @ weights[-1]) ** 2).mean()


def _grad_jax(jax, jnp, x, *weights) -> Call:
    step = jax.grad(lambda weights: _loss(jnp.tanh, x, weights))
    return lambda: jax.block_until_ready(step(weights))[0]


def _grad_torch(x, *weights) -> Call:
    import torch
    weights = [w.clone().requires_grad_() for w in weights]
    return lambda: torch.autograd.grad(_loss(torch.tanh, x, weights), weights)[0]


add(Line("gradient of three layers (not jitted)", 1.0, _perceptron, _grad_jax, torch=_grad_torch, tolerance=2e-3))


def _total(x):
    total = 0.0
    for i in range(100):
        total = total + x[i]
    return total


def _slices(x):
    return [x[i:i + 10] for i in range(100)][-1]


add(Line("a loop over x[i], 100 elements (not jitted)", 1.0, VECTOR,
         lambda jax, jnp, x: lambda: _total(x).block_until_ready(), numpy=lambda x: lambda: _total(x), quick=True))
add(Line("a hundred slices (not jitted)", 1.0, VECTOR,
         lambda jax, jnp, x: lambda: _slices(x).block_until_ready(), numpy=lambda x: lambda: _slices(x), quick=True))
add(Line("vmap of three operations (not jitted)", 1.0, SQUARES,
         lambda jax, jnp, x, y: lambda: jax.vmap(lambda a, b: jnp.sin(a) * b + a)(x, y).block_until_ready(),
         numpy=lambda x, y: lambda: np.sin(x) * y + x))
def _normal_jax(jax, jnp, x) -> Call:
    key = jax.random.key(0)
    return lambda: jax.random.normal(key, (16, 16)).block_until_ready()


def _normal_numpy(x) -> Call:
    generator = np.random.default_rng(0)
    return lambda: generator.standard_normal((16, 16), np.float32)


def _sizes_jax(jax, jnp, x) -> Call:
    sizes = itertools.cycle(range(1, 1000))
    return lambda: jnp.sin(x[:next(sizes)]).block_until_ready()


add(Line("random.normal (16, 16) (not jitted)", 1.0, lambda: (np.zeros(1, np.float32),), _normal_jax,
         numpy=_normal_numpy, compare=False))
add(Line("sin f32[n], another n each time (not jitted)", 0.1, VECTOR, _sizes_jax, compare=False))
