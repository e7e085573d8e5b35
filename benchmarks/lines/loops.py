"""Loops whose state stays in registers or in cache: recurrences, iterations per point, stencils, particles."""
from __future__ import annotations

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal, waiting

# --- a recurrent network ---

def _rnn_inputs() -> tuple[np.ndarray, ...]:
    return normal(64, 64, scale=0.1), normal(64, seed=1), normal(1000, 64, seed=2)


def _rnn(jax, jnp, w, b, xs):
    def step(h, x):
        h = jnp.tanh(w @ h + x + b)
        return h, h
    return jax.lax.scan(step, jnp.zeros(64), xs)[1]


def _rnn_grad_jax(jax, jnp, w, b, xs) -> Call:
    f = jax.jit(jax.value_and_grad(lambda w: jnp.sum(_rnn(jax, jnp, w, b, xs) ** 2)))

    def call():
        value, grad = f(w)
        return [value, grad.block_until_ready()]
    return call


add(Line("RNN scan hidden 64, T=1000: forward", 0.6, _rnn_inputs,
         lambda jax, jnp, w, b, xs: waiting(jax.jit(lambda w, b, xs: _rnn(jax, jnp, w, b, xs)), w, b, xs),
         flops=2.0 * 64 * 64 * 1000, tolerance=1e-3, quick=True))
add(Line("RNN scan hidden 64, T=1000: with gradient", 0.7, _rnn_inputs, _rnn_grad_jax, flops=6.0 * 64 * 64 * 1000,
         tolerance=1e-2))


# --- scalars ---

def _logistic_numba(x) -> Call:
    import numba

    @numba.njit
    def f(x):
        out = np.empty(100_000, np.float32)
        for i in range(100_000):
            x = np.float32(3.7) * x * (np.float32(1) - x)
            out[i] = x
        return out
    return lambda: f(np.float32(x))


def _logistic_jax(jax, jnp, x) -> Call:
    def step(x, _):
        x = 3.7 * x * (1 - x)
        return x, x
    return waiting(jax.jit(lambda x: jax.lax.scan(step, x, None, length=100_000)[1]), x)


add(Line("logistic map scan 100k", 1.05, lambda: (np.float32(0.3).reshape(()),), _logistic_jax, None,
         _logistic_numba, compare=False, quick=True))  # chaotic: roundings differ, so do the orbits


def _collatz_jax(jax, jnp, n) -> Call:
    lax = jax.lax

    def steps(n):
        return lax.while_loop(lambda s: s[0] != 1,
                              lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]
    f = jax.jit(lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + steps(s[0])), (1, 0))[1])
    return waiting(f, n)


def _collatz_numba(n) -> Call:
    import numba

    @numba.njit
    def f(n):
        total = np.int32(0)
        for k in range(np.int32(1), n):
            m = np.int32(k)
            while m != 1:
                m = m // np.int32(2) if m % np.int32(2) == 0 else np.int32(3) * m + np.int32(1)
                total += np.int32(1)
        return total
    return lambda: f(np.int32(n))


add(Line("Collatz nested while, up to 1000", 1.05, lambda: (np.array(1000, np.int32),), _collatz_jax, None,
         _collatz_numba))


def _newton_jax(jax, jnp, a) -> Call:
    def root(a):
        def more(s):
            return jnp.any(jnp.abs(s * s - a) > 1e-4 * a)
        return jax.lax.while_loop(more, lambda s: 0.5 * (s + a / s), a)
    return waiting(jax.jit(root), a)


add(Line("Newton while on 100k points", 0.8,
         lambda: (np.random.default_rng(0).uniform(1, 100, 100_000).astype(np.float32),), _newton_jax, quick=True))


# --- mandelbrot ---

def _plane() -> tuple[np.ndarray, ...]:
    x, y = np.meshgrid(np.linspace(-2, 0.5, 512, dtype=np.float32), np.linspace(-1.2, 1.2, 512, dtype=np.float32))
    return x, y


def _mandelbrot_jax(jax, jnp, x, y) -> Call:
    def body(i, s):
        a, b, n = s
        inside = a * a + b * b < 4
        a, b = jnp.where(inside, a * a - b * b + x, a), jnp.where(inside, 2 * a * b + y, b)
        return a, b, n + inside
    f = jax.jit(lambda x, y: jax.lax.fori_loop(0, 100, body, (x * 0, x * 0, jnp.zeros(x.shape, jnp.int32)))[2])
    return waiting(f, x, y)


def _mandelbrot_numba(x, y) -> Call:
    import numba

    @numba.njit(parallel=True)
    def f(x, y):
        out = np.zeros(x.shape, np.int32)
        for i in numba.prange(x.shape[0]):
            for j in range(x.shape[1]):
                a = b = np.float32(0)
                n = 0
                while n < 100 and a * a + b * b < 4:
                    a, b = a * a - b * b + x[i, j], np.float32(2) * a * b + y[i, j]
                    n += 1
                out[i, j] = n
        return out
    return lambda: f(x, y)


add(Line("mandelbrot 512^2 x 100", 0.7, _plane, _mandelbrot_jax, None, _mandelbrot_numba,
         flops=512 * 512 * 100 * 8.0, compare=False))  # points on the border differ by rounding


# --- n-body ---

def _nbody(jnp, p):
    d = p[None, :, :] - p[:, None, :]
    r2 = jnp.sum(d * d, axis=-1) + 1e-3
    return jnp.sum(d * (r2 ** -1.5)[:, :, None], axis=1)


def _nbody_numba(p) -> Call:
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def f(x, y, z):
        n = x.size
        out = np.empty((n, 3), np.float32)
        for i in numba.prange(n):
            ax = ay = az = np.float32(0)
            for j in range(n):
                dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
                r2 = dx * dx + dy * dy + dz * dz + np.float32(1e-3)
                w = np.float32(1) / (r2 * np.sqrt(r2))
                ax += dx * w
                ay += dy * w
                az += dz * w
            out[i, 0], out[i, 1], out[i, 2] = ax, ay, az
        return out
    x, y, z = (np.ascontiguousarray(p[:, k]) for k in range(3))
    return lambda: f(x, y, z)


add(Line("n-body 1024", 0.25, lambda: (normal(1024, 3),),
         lambda jax, jnp, p: waiting(jax.jit(lambda p: _nbody(jnp, p)), p), None, _nbody_numba,
         flops=1024 * 1024 * 20.0, tolerance=2e-2))


# --- heat ---

def _heat_jax(jax, jnp, u) -> Call:
    def step(i, u):
        p = jnp.pad(u, 1)
        return u + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)
    return waiting(jax.jit(lambda u: jax.lax.fori_loop(0, 100, step, u)), u)


def _heat_numba(u) -> Call:
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def f(u):
        n, m = u.shape
        a = np.zeros((n + 2, m + 2), np.float32)
        b = np.zeros((n + 2, m + 2), np.float32)
        a[1:-1, 1:-1] = u
        for _ in range(100):
            for i in numba.prange(1, n + 1):
                for j in range(1, m + 1):
                    b[i, j] = a[i, j] + np.float32(0.1) * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
                                                           - np.float32(4) * a[i, j])
            a, b = b, a
        return a[1:-1, 1:-1].copy()
    return lambda: f(u)


add(Line("heat 1024^2 x 100", 1.0, lambda: (normal(1024, 1024),), _heat_jax, None, _heat_numba,
         bytes=8e6 * 100 * 1.048576, passes=100, tolerance=1e-3))
