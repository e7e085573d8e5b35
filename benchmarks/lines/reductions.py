"""Rows and columns folded: softmax and its family, sums, moments, argmax, running sums."""
from __future__ import annotations

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal, waiting


def _jitted(f):
    """Return the maker for a function of (jax, jnp, x)."""
    return lambda jax, jnp, x: waiting(jax.jit(lambda x: f(jax, jnp, x)), x)


def _compiled(f):
    """Return the maker for a torch function of (torch, x)."""
    def make(x) -> Call:
        import torch
        g = torch.compile(lambda x: f(torch, x))
        return lambda: g(x)
    return make


def _prange(row):
    """Return the maker of a numba kernel that fills `out` row by row in parallel; `row(x, out, i)`."""
    def make(x) -> Call:
        import numba
        kernel = numba.njit(row, fastmath=True)

        @numba.njit(parallel=True)
        def f(x):
            out = np.empty_like(x)
            for i in numba.prange(x.shape[0]):
                kernel(x, out, i)
            return out
        return lambda: f(x)
    return make


def _softmax_row(x, out, i):
    top = x[i, 0]
    for j in range(x.shape[1]):
        top = max(top, x[i, j])
    total = np.float32(0)
    for j in range(x.shape[1]):
        out[i, j] = np.exp(x[i, j] - top)
        total += out[i, j]
    for j in range(x.shape[1]):
        out[i, j] /= total


def _layernorm_row(x, out, i):
    total = np.float32(0)
    square = np.float32(0)
    n = np.float32(x.shape[1])
    for j in range(x.shape[1]):
        total += x[i, j]
    mean = total / n
    for j in range(x.shape[1]):
        square += (x[i, j] - mean) ** 2
    scale = np.float32(1) / np.sqrt(square / n + np.float32(1e-5))
    for j in range(x.shape[1]):
        out[i, j] = (x[i, j] - mean) * scale


def _layernorm(jax, jnp, x):
    mean = x.mean(1, keepdims=True)
    return (x - mean) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5)


ROWS = lambda: (normal(4096, 1024),)  # noqa: E731
add(Line("softmax (4096,1024)", 0.9, ROWS, _jitted(lambda jax, jnp, x: jax.nn.softmax(x, 1)),
         _compiled(lambda torch, x: torch.softmax(x, 1)), _prange(_softmax_row), bytes=32e6, quick=True))
add(Line("layernorm (4096,1024)", 1.0, ROWS, _jitted(_layernorm),
         _compiled(lambda torch, x: torch.nn.functional.layer_norm(x, (1024,))), _prange(_layernorm_row), bytes=32e6))
add(Line("logsumexp (4096,1024)", 0.8, ROWS, _jitted(lambda jax, jnp, x: jax.nn.logsumexp(x, 1)),
         _compiled(lambda torch, x: torch.logsumexp(x, 1)), bytes=16e6, reads_only=True))


def _numba_sum(axis):
    def make(x) -> Call:
        import numba

        @numba.njit(parallel=True, fastmath=True)
        def all_(x):
            total = np.float32(0)
            for i in numba.prange(x.shape[0]):
                total += x[i].sum()
            return total

        @numba.njit(parallel=True, fastmath=True)
        def rows(x):
            out = np.empty(x.shape[0], np.float32)
            for i in numba.prange(x.shape[0]):
                out[i] = x[i].sum()
            return out

        @numba.njit(parallel=True, fastmath=True)
        def columns(x):
            out = np.zeros((8, x.shape[1]), np.float32)
            step = x.shape[0] // 8
            for b in numba.prange(8):
                for i in range(b * step, (b + 1) * step):
                    for j in range(x.shape[1]):
                        out[b, j] += x[i, j]
            return out.sum(0)
        f = {None: all_, 1: rows, 0: columns}[axis]
        return lambda: f(x)
    return make


for axis, target in ((None, 1.0), (1, 1.0), (0, 0.7)):
    add(Line(f"sum {'all' if axis is None else f'axis {axis}'} of (4096,4096)", target,
             lambda: (np.random.default_rng(0).random((4096, 4096), np.float32),),
             _jitted(lambda jax, jnp, x, axis=axis: jnp.sum(x, axis)),
             _compiled(lambda torch, x, axis=axis: torch.sum(x) if axis is None else torch.sum(x, axis)),
             _numba_sum(axis), lambda x, axis=axis: lambda: x.sum(axis), bytes=64e6 * 1.048576,
             reads_only=True, tolerance=1e-3, quick=axis == 1))


def _numba_moments(x) -> Call:
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def f(x):
        total = np.float64(0)
        square = np.float64(0)
        for i in numba.prange(x.shape[0]):
            s = np.float32(0)
            q = np.float32(0)
            for j in range(x.shape[1]):
                s += x[i, j]
                q += x[i, j] * x[i, j]
            total += s
            square += q
        mean = total / x.size
        return mean, square / x.size - mean * mean
    return lambda: f(x)


def _moments_jax(jax, jnp, x) -> Call:
    f = jax.jit(lambda x: (jnp.mean(x), jnp.var(x)))
    return lambda: [a.block_until_ready() for a in f(x)]


add(Line("mean and var of (4096,4096)", 0.6, lambda: (normal(4096, 4096),), _moments_jax,
         _compiled(lambda torch, x: (torch.mean(x), torch.var(x, unbiased=False))), _numba_moments,
         bytes=64e6 * 1.048576, reads_only=True, tolerance=1e-3))
add(Line("argmax axis 1 of (4096,1024)", 0.9, ROWS, _jitted(lambda jax, jnp, x: jnp.argmax(x, 1)),
         _compiled(lambda torch, x: torch.argmax(x, 1)), None, lambda x: lambda: np.argmax(x, 1), bytes=16e6,
         reads_only=True))


def _cumsum_numba(x) -> Call:
    import numba

    @numba.njit
    def f(x):
        out = np.empty_like(x)
        total = np.float32(0)
        for i in range(x.size):
            total += x[i]
            out[i] = total
        return out
    return lambda: f(x)


add(Line("cumsum 1M", 0.8, lambda: (normal(1_000_000),), _jitted(lambda jax, jnp, x: jnp.cumsum(x)),
         _compiled(lambda torch, x: torch.cumsum(x, 0)), _cumsum_numba, lambda x: lambda: np.cumsum(x), bytes=8e6,
         tolerance=5e-2))


def _both_sums(jax, jnp, x) -> Call:
    f = jax.jit(lambda x: (x.sum(0), x.sum(1)))
    return lambda: [a.block_until_ready() for a in f(x)]


def _max_pool(jax, jnp, x):
    return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def _max_pool_torch(x) -> Call:
    import torch
    return lambda: torch.nn.functional.max_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1).permute(0, 2, 3, 1)


add(Line("sums of rows and of columns of (2000,2000)", 1.0, lambda: (normal(2000, 2000),), _both_sums,
         _compiled(lambda torch, x: (x.sum(0), x.sum(1))), None, lambda x: lambda: (x.sum(0), x.sum(1)), bytes=16e6,
         reads_only=True, tolerance=1e-3))
add(Line("max-pool 3x3/2 of (16,57,57,32)", 1.0, lambda: (normal(16, 57, 57, 32),), _jitted(_max_pool),
         _max_pool_torch, bytes=8.3e6))
