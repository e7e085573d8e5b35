"""Elements that are moved and nothing else: transposed, joined, repeated."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal, waiting


def _of(name: str, shape: tuple[int, ...], f: Callable[..., Any], torch: Callable[..., Any], nbytes: float,
        quick: bool = False) -> None:
    """Add a line for `f(numpy or jnp, x)` and `torch(torch, x)`, with all elements in order: not as a view."""
    def of_torch(x) -> Call:
        import torch as library
        return lambda: torch(library, x)

    add(Line(name, 1.0, lambda: (normal(*shape),),
             lambda jax, jnp, x: waiting(jax.jit(lambda x: _in_order(jax, f(jnp, x))), x), of_torch,
             numpy=lambda x: lambda: np.ascontiguousarray(f(np, x)), bytes=nbytes, quick=quick))


def _in_order(jax: Any, x: Any) -> Any:
    """What only moves elements is answered by a view in tinytrace, but not beside what computes."""
    return jax.lax.optimization_barrier(x) if jax.__name__ == "tinytrace" else x


_of("transpose (4096,4096)", (4096, 4096), lambda np, x: x.T, lambda torch, x: x.T.contiguous(), 2 * 4096**2 * 4.0,
    quick=True)
_of("x + x.T (4096,4096)", (4096, 4096), lambda np, x: x + x.T, lambda torch, x: x + x.T, 2 * 4096**2 * 4.0)
_of("transpose (64,300,500) to (64,500,300)", (64, 300, 500), lambda np, x: x.swapaxes(1, 2),
    lambda torch, x: x.swapaxes(1, 2).contiguous(), 64 * 300 * 500 * 8.0)
_of("concatenate two of 1M", (1_000_000,), lambda np, x: np.concatenate([x, x]), lambda torch, x: torch.cat([x, x]),
    12e6)
_of("concatenate two of 10M", (10_000_000,), lambda np, x: np.concatenate([x, x]), lambda torch, x: torch.cat([x, x]),
    120e6)
_of("repeat 1M 4 times", (1_000_000,), lambda np, x: np.repeat(x, 4), lambda torch, x: torch.repeat_interleave(x, 4),
    20e6)
_of("tile 1M 4 times", (1_000_000,), lambda np, x: np.tile(x, 4), lambda torch, x: torch.tile(x, (4,)), 20e6)
_of("patches of 16x16 of (8,224,224,3)", (8, 224, 224, 3),
    lambda np, x: x.reshape(8, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(8, 196, 768),
    lambda torch, x: x.reshape(8, 14, 16, 14, 16, 3).permute(0, 1, 3, 2, 4, 5).reshape(8, 196, 768),
    2 * 8 * 224 * 224 * 12.0)
_of("stack nine of (300,400) along axis 1", (9, 300, 400), lambda np, x: np.stack([x[k] for k in range(9)], 1),
    lambda torch, x: torch.stack([x[k] for k in range(9)], 1), 9 * 300 * 400 * 8.0)
