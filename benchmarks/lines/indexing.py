"""Rows chosen by index: k-means, embeddings, segment sums."""
from __future__ import annotations

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal, waiting


def _kmeans_jax(jax, jnp, x, c) -> Call:
    def step(x, c):
        distance = jnp.sum((x[:, None, :] - c[None, :, :]) ** 2, -1)
        nearest = jnp.argmin(distance, 1)
        sums = jnp.zeros_like(c).at[nearest].add(x)
        counts = jnp.zeros(c.shape[0]).at[nearest].add(1.0)
        return sums / jnp.maximum(counts, 1)[:, None]
    return waiting(jax.jit(step), x, c)


def _kmeans_numba(x, c) -> Call:
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def assign(x, c):
        nearest = np.empty(x.shape[0], np.int32)
        for i in numba.prange(x.shape[0]):
            best, where = np.float32(np.inf), 0
            for k in range(c.shape[0]):
                d = np.float32(0)
                for j in range(x.shape[1]):
                    d += (x[i, j] - c[k, j]) ** 2
                if d < best:
                    best, where = d, k
            nearest[i] = where
        return nearest

    @numba.njit
    def step(x, c):
        nearest = assign(x, c)
        sums, counts = np.zeros_like(c), np.zeros(c.shape[0], np.float32)
        for i in range(x.shape[0]):
            counts[nearest[i]] += 1
            for j in range(x.shape[1]):
                sums[nearest[i], j] += x[i, j]
        for k in range(c.shape[0]):
            sums[k] /= max(counts[k], np.float32(1))
        return sums
    return lambda: step(x, c)


add(Line("k-means step 20000x16, 64 centres", 0.9, lambda: (normal(20000, 16), normal(64, 16, seed=1)), _kmeans_jax,
         None, _kmeans_numba, flops=20000 * 64 * 16 * 3.0, tolerance=1e-2))


def _rows() -> tuple[np.ndarray, ...]:
    return normal(10000, 128), np.random.default_rng(0).integers(0, 10000, 16384).astype(np.int32)


def _rows_numba(table, index) -> Call:
    import numba

    @numba.njit(parallel=True)
    def f(table, index):
        out = np.empty((index.size, table.shape[1]), np.float32)
        for i in numba.prange(index.size):
            out[i] = table[index[i]]
        return out
    return lambda: f(table, index)


def _rows_torch(table, index) -> Call:
    import torch
    return lambda: torch.nn.functional.embedding(index, table)


add(Line("embedding rows 16384 of (10000,128)", 1.0, _rows,
         lambda jax, jnp, t, i: waiting(jax.jit(lambda t, i: t[i]), t, i), _rows_torch, _rows_numba,
         lambda t, i: lambda: t[i], bytes=16384 * 128 * 8.0, quick=True))


def _segments() -> tuple[np.ndarray, ...]:
    return normal(1_000_000), np.random.default_rng(0).integers(0, 1000, 1_000_000).astype(np.int32)


def _segments_numba(x, index) -> Call:
    import numba

    @numba.njit
    def f(x, index):
        out = np.zeros(1000, np.float32)
        for i in range(x.size):
            out[index[i]] += x[i]
        return out
    return lambda: f(x, index)


add(Line("segment sum 1M into 1000", 1.0, _segments,
         lambda jax, jnp, x, i: waiting(jax.jit(lambda x, i: jnp.zeros(1000).at[i].add(x)), x, i), None,
         _segments_numba, bytes=8e6, tolerance=1e-2))
