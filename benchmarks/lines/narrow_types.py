"""Half precision and small integers, and many small products: conversions in vectors, products in a wider type."""
from __future__ import annotations

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal, waiting


def _product(name: str, dtype: str, target: float, n: int = 512) -> None:
    def torch_product(a, b) -> Call:
        import torch
        a, b = (x.to(getattr(torch, dtype)) for x in (a, b))
        return lambda: torch.matmul(a, b)

    add(Line(name, target, lambda: (normal(n, n), normal(n, n, seed=1)),
             lambda jax, jnp, a, b: waiting(jax.jit(lambda a, b: a @ b), a.astype(dtype), b.astype(dtype)),
             torch_product, flops=2.0 * n**3, bytes=6.0 * n * n, compare=False))


_product("product float16 512^3", "float16", 1.0)
_product("product bfloat16 512^3", "bfloat16", 1.0)


def _bytes(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-100, 100, shape).astype(np.int8)


def _int8_jax(jax, jnp, a, b) -> Call:
    return waiting(jax.jit(lambda a, b: jax.lax.dot(a, b, preferred_element_type=jnp.int32)), a, b)


def _int8_torch(a, b) -> Call:
    import torch
    return lambda: torch._int_mm(a, b)


add(Line("product int8 512^3 to int32", 1.0, lambda: (_bytes(512, 512), _bytes(512, 512, seed=1)), _int8_jax,
         _int8_torch, None, lambda a, b: lambda: a.astype(np.float32) @ b.astype(np.float32), flops=2.0 * 512**3,
         bytes=1.5e6))


def _chain(name: str, dtype: str, target: float) -> None:
    def of(maximum, x):
        return maximum(x * 2 + 1, x) * x - x

    def torch_chain(x) -> Call:
        import torch
        f = torch.compile(lambda x: of(torch.maximum, x))
        x = x.to(getattr(torch, dtype))
        return lambda: f(x)

    add(Line(name, target, lambda: (normal(1 << 20),),
             lambda jax, jnp, x: waiting(jax.jit(lambda x: of(jnp.maximum, x)), x.astype(dtype)), torch_chain,
             bytes=4.0 * (1 << 20), compare=False))


_chain("chain float16 1M", "float16", 1.0)
_chain("chain bfloat16 1M", "bfloat16", 1.0)


def _small_products(n: int, count: int, target: float) -> None:
    def torch_products(a, b) -> Call:
        import torch
        return lambda: torch.matmul(a, b)

    add(Line(f"products {count} of {n}x{n}", target, lambda: (normal(count, n, n), normal(count, n, n, seed=1)),
             lambda jax, jnp, a, b: waiting(jax.jit(lambda a, b: a @ b), a, b), torch_products, None,
             lambda a, b: lambda: a @ b, flops=2.0 * count * n**3, bytes=12.0 * count * n * n, tolerance=1e-3))


_small_products(4, 100_000, 1.0)
_small_products(8, 20_000, 1.0)
