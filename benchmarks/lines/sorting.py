"""Sorting and what is made of it, searching, and samples by rejection."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Call, Line, add

from lines.elementwise import normal, waiting


def _of(name: str, inputs: Callable[[], tuple[Any, ...]], jaxlike: Callable[..., Any], numpy: Callable[..., Any],
        torch: Callable[..., Any] | None = None, quick: bool = False, compare: bool = True,
        jitted: bool = True) -> None:
    """Add a line for `jaxlike(jax, jnp, *arrays)`, `numpy(*arrays)` and `torch(torch, *arrays)`."""
    def of_jax(jax, jnp, *args) -> Call:
        run = lambda *args: jaxlike(jax, jnp, *args)  # noqa: E731
        return waiting(jax.jit(run) if jitted else run, *args)

    def of_torch(*args) -> Call:
        import torch as library
        return lambda: torch(library, *args)

    add(Line(name, 1.0, inputs, of_jax, of_torch if torch else None, numpy=lambda *args: lambda: numpy(*args),
             quick=quick, compare=compare))


def _million() -> tuple[Any, ...]:
    return (normal(1_000_000),)


def _integers() -> tuple[Any, ...]:
    return (np.random.default_rng(0).integers(-2**31, 2**31, 1_000_000).astype(np.int32),)


_of("sort 1M", _million, lambda jax, jnp, x: jnp.sort(x), np.sort, lambda torch, x: torch.sort(x)[0], quick=True)
_of("sort 1M int32", _integers, lambda jax, jnp, x: jnp.sort(x), np.sort, lambda torch, x: torch.sort(x)[0])
_of("sort rows (1000,1000)", lambda: (normal(1000, 1000),), lambda jax, jnp, x: jnp.sort(x), np.sort,
    lambda torch, x: torch.sort(x)[0])
_of("sort axis 0 (1000,1000)", lambda: (normal(1000, 1000),), lambda jax, jnp, x: jnp.sort(x, 0),
    lambda x: np.sort(x, 0), lambda torch, x: torch.sort(x, 0)[0])
_of("argsort 1M", _million, lambda jax, jnp, x: jnp.argsort(x), lambda x: np.argsort(x, kind="stable"),
    lambda torch, x: torch.argsort(x, stable=True))
_of("top 10 of 1M", _million, lambda jax, jnp, x: jax.lax.top_k(x, 10)[0],
    lambda x: -np.sort(-x[np.argpartition(x, -10)[-10:]]), lambda torch, x: torch.topk(x, 10)[0])
_of("median of 1M", lambda: (normal(999_999),), lambda jax, jnp, x: jnp.median(x), np.median,
    lambda torch, x: torch.median(x))
_of("unique of 1M (not jitted)", lambda: (np.round(normal(1_000_000), 2),),
    lambda jax, jnp, x: jnp.unique(x), np.unique, lambda torch, x: torch.unique(x), jitted=False)
_of("permutation of 1M", lambda: (np.int32(0),),
    lambda jax, jnp, seed: jax.random.permutation(jax.random.key(seed), 1_000_000),
    lambda seed: np.random.default_rng(seed).permutation(1_000_000), lambda torch, seed: torch.randperm(1_000_000),
    compare=False)
_of("histogram of 1M, 64 bins", _million, lambda jax, jnp, x: jnp.histogram(x, 64)[0], lambda x: np.histogram(x, 64)[0],
    compare=False)  # of edges that are rounded otherwise a few elements are on the other side
_of("searchsorted 1M in 1000", lambda: (np.sort(normal(1000, seed=1)), normal(1_000_000)),
    lambda jax, jnp, a, x: jnp.searchsorted(a, x), np.searchsorted,
    lambda torch, a, x: torch.searchsorted(a, x))
_of("gamma samples 100k", lambda: (np.int32(0),),
    lambda jax, jnp, seed: jax.random.gamma(jax.random.key(seed), 2.0, (100_000,)),
    lambda seed: np.random.default_rng(seed).standard_gamma(2.0, 100_000, dtype=np.float32), compare=False)
