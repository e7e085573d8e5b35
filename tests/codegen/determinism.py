"""Programs whose results must be the same bytes whenever they run, on arrays large enough to be cut among threads.

`python -m tests.codegen.determinism own` prints a digest of each result of a part, for another process to compare.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tinytrace as jax
import tinytrace.numpy as jnp
from tests.codegen import test_goldens as golden
from tests.primitives import domains, test_large
from tests.primitives import test_registry as registry
from tinytrace.core.dtypes import KeyType
from tinytrace.primitives.elementwise import Elementwise

LENGTH = 300_007
COSTLY = {"igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "regularized_incomplete_beta", "zeta", "polygamma"}
"""A microsecond per element or more: cut among threads at a tenth of the length."""

NUMBERS = np.random.default_rng(3).normal(size=LENGTH).astype(np.float32)
MATRIX = NUMBERS[:300_000].reshape(500, -1)
COUNTS = np.random.default_rng(4).integers(0, 10, LENGTH).astype(np.int32)


def fractions(x):
    """Sums, products and running ones of many elements, which every grouping rounds its own way."""
    return x.sum(), (1 + x / 1e3).prod(), jnp.cumsum(x), jnp.cumprod(1 + x / 1e3), x.mean(), x.std(), jnp.var(x)


def segments(x, segment):
    return jnp.zeros(10).at[segment].add(x), jnp.zeros(10).at[segment].max(x), jnp.bincount(segment, x, length=10)


OWN: dict[str, tuple[Callable[..., Any], ...]] = {
    "fractions": (fractions, NUMBERS),
    "segments": (segments, NUMBERS, COUNTS),
    "sorts": (lambda x, n: (jnp.sort(x), jnp.argsort(n), jnp.unique(n, size=20)), NUMBERS, COUNTS),
    "scan": (lambda x: jax.lax.scan(lambda h, x: (jnp.tanh(h + x), h.sum()), x[0], x), MATRIX),
    "products": (lambda x: (x @ x.T, (x.T @ x)[:, :3], jnp.einsum("ij,ij->i", x, x)), MATRIX),
    "matrix times vector": (lambda x: (x @ x[0], x[:, 0] @ x), MATRIX),
    "gradient": (jax.grad(lambda w, x: jnp.tanh(jnp.tanh(x @ w) @ w.T).sum()), NUMBERS[:60_000].reshape(200, -1),
                 NUMBERS[:40_000].reshape(200, -1)),
    "random": (lambda x: jax.random.normal(jax.random.PRNGKey(0), x.shape) * x, NUMBERS),
}  # fmt: skip
PARTS = {"own": 8, "large": 20, "golden": 25, "registry": 90}
"""Of how many programs each consists, at least."""


def programs(part: str) -> dict[str, tuple[Any, ...]]:
    """Functions with their arguments, by name."""
    if part == "own":
        return OWN
    if part == "large":
        return {name: make() for name, make in test_large.PROGRAMS.items()}
    if part == "golden":
        return {name: (function, *map(filled, args)) for name, (function, *args) in golden.PROGRAMS.items()}
    return {primitive.name: applied(primitive) for primitive in [*OTHERS, *ELEMENTWISE[::EVERY]]}


ELEMENTWISE = [primitive for primitive in domains.tried() if isinstance(primitive, Elementwise)]
OTHERS = [primitive for primitive in domains.tried() if not isinstance(primitive, Elementwise)]
EVERY = 8
"""Of operations on elements one in so many: `tests/api/test_one_meaning.py` tries all of them on 1, 2 and 5 threads."""


def filled(spec: jax.ShapeDtypeStruct) -> Any:
    """An array of this shape and dtype."""
    numbers = COUNTS if spec.dtype.kind in "iu" else NUMBERS
    return np.resize(numbers, spec.shape).astype(spec.dtype)


def applied(primitive: Any) -> tuple[Any, ...]:
    """A primitive on its samples in the registry; where it works on elements, on many of them."""
    samples = domains.samples(primitive.name)
    if isinstance(primitive, Elementwise):
        long = LENGTH // 10 if primitive.name in COSTLY else LENGTH
        samples = [domains.Sample(tuple(np.resize(x, long) for x in samples[0].args), samples[0].params), samples[-1]]

    def function(*args: Any) -> Any:
        return [registry.bound(primitive, sample, xs) for sample, xs in zip(samples, args, strict=True)]

    return function, *(sample.args for sample in samples)


def digest(results: Any) -> str:
    """What tells the bytes of two results apart."""
    total = hashlib.sha256()
    for leaf in jax.tree.leaves(results):
        array = jax.random.key_data(leaf) if isinstance(leaf.dtype, KeyType) else leaf
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def digests(part: str) -> dict[str, str]:
    """One digest for each program."""
    return {name: digest(jax.jit(function)(*args)) for name, (function, *args) in programs(part).items()}


if __name__ == "__main__":
    print(json.dumps(digests(sys.argv[1])))
