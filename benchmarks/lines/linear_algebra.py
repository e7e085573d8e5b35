"""Linear algebra: factorizations of one large matrix and of many small ones, and programs made of them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal, waiting


def positive(*shape: int) -> np.ndarray:
    """Return symmetric positive definite matrices."""
    a = normal(*shape)
    return (a @ a.swapaxes(-1, -2) / shape[-1] + np.eye(shape[-1])).astype(np.float32)


def _of(name: str, inputs: Callable[[], tuple[Any, ...]], f: Callable[..., Any], tolerance: float = 1e-3,
        quick: bool = False, jitted: bool = True) -> None:
    """Add a line for `f(linalg, *arrays)`: the linalg of jnp, of NumPy, and of torch."""
    def jaxlike(jax, jnp, *args) -> Call:
        run = lambda *args: f(jnp.linalg, *args)  # noqa: E731
        return waiting(jax.jit(run) if jitted else run, *args)

    def torch_(*args) -> Call:
        import torch
        return lambda: f(torch.linalg, *args)

    add(Line(name, 1.0, inputs, jaxlike, torch_, numpy=lambda *args: lambda: f(np.linalg, *args),
             tolerance=tolerance, quick=quick))


def _product_of_factors(linalg, a):
    q, r = linalg.qr(a)
    return abs(q @ r)


_of("slogdet 1000x(8,8)", lambda: (normal(1000, 8, 8),), lambda linalg, a: linalg.slogdet(a)[1], quick=True)
_of("solve 64x(64,64)", lambda: (normal(64, 64, 64) + 16 * np.eye(64, dtype=np.float32), normal(64, 64, 64, seed=1)),
    lambda linalg, a, b: linalg.solve(a, b))
_of("inv (256,256)", lambda: (positive(256, 256),), lambda linalg, a: linalg.inv(a))
_of("cholesky (1024,1024)", lambda: (positive(1024, 1024),), lambda linalg, a: linalg.cholesky(a))
_of("slogdet (1024,1024)", lambda: (normal(1024, 1024),), lambda linalg, a: linalg.slogdet(a)[1])
_of("qr (512,256)", lambda: (normal(512, 256),), _product_of_factors)
_of("qr 500x(10,5)", lambda: (normal(500, 10, 5),), _product_of_factors)
_of("svd (200,100)", lambda: (normal(200, 100),), lambda linalg, a: linalg.svd(a, full_matrices=False)[1])
_of("eigh (200,200)", lambda: (positive(200, 200),), lambda linalg, a: linalg.eigh(a)[0])
_of("eigh 1000x(3,3)", lambda: (positive(1000, 3, 3),), lambda linalg, a: linalg.eigh(a)[0])
_of("solve (16,16) (not jitted)", lambda: (positive(16, 16), normal(16)), lambda linalg, a, b: linalg.solve(a, b),
    quick=True, jitted=False)
_of("cholesky (64,64) (not jitted)", lambda: (positive(64, 64),), lambda linalg, a: linalg.cholesky(a), jitted=False)


def _gaussian_process(jax, jnp, x, y) -> Call:
    """The logarithm of the marginal likelihood of 300 observations, with its gradient by two parameters."""
    def likelihood(length, noise):
        k = jnp.exp(-0.5 * (x[:, None] - x[None, :]) ** 2 / length**2) + noise * jnp.eye(x.shape[0])
        factor = jnp.linalg.cholesky(k)
        weights = jax.scipy.linalg.cho_solve((factor, True), y)
        return -0.5 * y @ weights - jnp.sum(jnp.log(jnp.diagonal(factor)))

    step = jax.jit(jax.grad(likelihood, (0, 1)))
    return lambda: [part.block_until_ready() for part in step(1.0, 0.1)]


def _kalman(jax, jnp, observed) -> Call:
    """The likelihood of 100 observations of a point with a velocity, with its gradient by the noise of the motion."""
    move, see = jnp.eye(4) + 0.1 * jnp.eye(4, k=2), jnp.eye(2, 4)

    def step(carry, z):
        x, p, total, q = carry
        x, p = move @ x, move @ p @ move.T + q * jnp.eye(4)
        s, error = see @ p @ see.T + 0.1 * jnp.eye(2), z - see @ x
        gain = jnp.linalg.solve(s, see @ p).T
        total = total + error @ jnp.linalg.solve(s, error) + jnp.linalg.slogdet(s)[1]
        return (x + gain @ error, (jnp.eye(4) - gain @ see) @ p, total, q), None

    def likelihood(q, observed):
        (_, _, total, _), _ = jax.lax.scan(step, (jnp.zeros(4), jnp.eye(4), 0.0, q), observed)
        return -0.5 * total

    return waiting(jax.jit(jax.grad(likelihood)), 0.1, observed)


add(Line("GP likelihood of 300 points with gradient", 1.0,
         lambda: (np.linspace(0, 5, 300, dtype=np.float32), normal(300)), _gaussian_process, tolerance=5e-2))
add(Line("Kalman filter of 100 steps with gradient", 1.0, lambda: (normal(100, 2),), _kalman, tolerance=1e-2))
