"""One pass over memory: chains of elementwise operations."""
from __future__ import annotations

from functools import partial

import numpy as np
from harness import Call, Line, add


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """Return f32 standard normals, the same for every rival."""
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def waiting(f, *args) -> Call:
    """Return the call of a jitted function that waits for its result."""
    return lambda: f(*args).block_until_ready()


# --- selu ---

def _selu_jax(jax, jnp, x) -> Call:
    def selu(x, alpha=1.67, lambda_=1.05):
        return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)
    return waiting(jax.jit(selu), x)


def _selu_torch(x) -> Call:
    import torch
    f = torch.compile(lambda x: 1.05 * torch.where(x > 0, x, 1.67 * torch.exp(x) - 1.67))
    return lambda: f(x)


def _selu_numba(x) -> Call:
    import numba
    f = numba.vectorize(["float32(float32)"], target="parallel", fastmath=False)(
        lambda x: np.float32(1.05) * (x if x > 0 else np.float32(1.67) * np.exp(x) - np.float32(1.67)))
    return lambda: f(x)


add(Line("selu 1M", 0.9, lambda: (normal(1_000_000),), _selu_jax, _selu_torch, _selu_numba,
         lambda x: lambda: 1.05 * np.where(x > 0, x, np.float32(1.67) * np.exp(x) - np.float32(1.67)),
         bytes=8e6, quick=True))


# --- a mixed expression over 10M ---

def _mixed(sin, cos, tanh, exp, x, y):
    return sin(x) * cos(y) + tanh(x * y) / (1 + exp(-x))


def _mixed_jax(jax, jnp, x, y) -> Call:
    return waiting(jax.jit(partial(_mixed, jnp.sin, jnp.cos, jnp.tanh, jnp.exp)), x, y)


def _mixed_torch(x, y) -> Call:
    import torch
    f = torch.compile(lambda x, y: _mixed(torch.sin, torch.cos, torch.tanh, torch.exp, x, y))
    return lambda: f(x, y)


def _mixed_numba(x, y) -> Call:
    import numba

    @numba.njit(parallel=True)
    def f(x, y):
        out = np.empty_like(x)
        for i in numba.prange(x.size):
            out[i] = np.sin(x[i]) * np.cos(y[i]) + np.tanh(x[i] * y[i]) / (np.float32(1) + np.exp(-x[i]))
        return out
    return lambda: f(x, y)


add(Line("sin(x)*cos(y)+tanh(x*y)/(1+exp(-x)) 10M", 0.5,
         lambda: (normal(10_000_000), normal(10_000_000, seed=1)), _mixed_jax, _mixed_torch, _mixed_numba,
         lambda x, y: lambda: _mixed(np.sin, np.cos, np.tanh, np.exp, x, y), bytes=120e6))


# --- Black-Scholes ---

def _black_scholes(log, sqrt, exp, erf, s, k, t):
    r, sigma = 0.05, 0.2
    root = sigma * sqrt(t)
    d1 = (log(s / k) + (r + 0.5 * sigma * sigma) * t) / root
    d2 = d1 - root
    cdf = lambda d: 0.5 * (1 + erf(d * 0.7071067811865476))  # noqa: E731
    return s * cdf(d1) - k * exp(-r * t) * cdf(d2)


def _options() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return tuple(rng.uniform(low, high, 1_000_000).astype(np.float32) for low, high in ((10, 50), (10, 50), (0.1, 2)))


def _black_scholes_jax(jax, jnp, s, k, t) -> Call:
    return waiting(jax.jit(partial(_black_scholes, jnp.log, jnp.sqrt, jnp.exp, jax.lax.erf)), s, k, t)


def _black_scholes_torch(s, k, t) -> Call:
    import torch
    f = torch.compile(lambda s, k, t: _black_scholes(torch.log, torch.sqrt, torch.exp, torch.erf, s, k, t))
    return lambda: f(s, k, t)


def _black_scholes_numba(s, k, t) -> Call:
    import math

    import numba

    @numba.njit(parallel=True)
    def f(s, k, t):
        out = np.empty_like(s)
        for i in numba.prange(s.size):
            root = 0.2 * math.sqrt(t[i])
            d1 = (math.log(s[i] / k[i]) + 0.07 * t[i]) / root
            d2 = d1 - root
            c1 = 0.5 * (1 + math.erf(d1 * 0.7071067811865476))
            c2 = 0.5 * (1 + math.erf(d2 * 0.7071067811865476))
            out[i] = s[i] * c1 - k[i] * math.exp(-0.05 * t[i]) * c2
        return out
    return lambda: f(s, k, t)


add(Line("Black-Scholes 1M (erf)", 1.0, _options, _black_scholes_jax, _black_scholes_torch, _black_scholes_numba,
         bytes=16e6, tolerance=2e-3, quick=True))


# --- x + 1 ---

def _plus_one(x, xs_module=None):
    return x + 1


def _plus_one_torch(x) -> Call:
    import torch
    f = torch.compile(lambda x: x + 1)
    return lambda: f(x)


def _plus_one_numba(x) -> Call:
    import numba
    f = numba.njit(parallel=True)(lambda x: x + np.float32(1))
    return lambda: f(x)


PLUS_ONE = (("x+1 over 1M", 1 << 20, 0.6), ("x+1 over 4M", 1 << 22, 0.3), ("x+1 over 16M", 1 << 24, 0.3))
for name, size, target in PLUS_ONE:
    add(Line(name, target, partial(lambda n: (normal(n),), size),
             lambda jax, jnp, x: waiting(jax.jit(lambda x: x + 1), x), _plus_one_torch, _plus_one_numba,
             lambda x: lambda: x + np.float32(1), bytes=8.0 * size, quick=size == 1 << 20))


add(Line("selu op by op 1M (not jitted)", 1.0, lambda: (normal(1_000_000),),
         lambda jax, jnp, x: lambda: (1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)).block_until_ready(),
         bytes=8e6))
