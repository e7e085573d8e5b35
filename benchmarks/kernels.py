"""Write docs/kernels.md: what some programs become, their C, and how far from the machine's limit they run.

    python benchmarks/kernels.py [FILE]
"""
from __future__ import annotations

import inspect
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from limits import Limits, measure_limits

import tinytrace as jax
import tinytrace.numpy as jnp

TARGET = pathlib.Path(__file__).parent.parent / "docs" / "kernels.md"


def selu(x: Any, alpha: float = 1.67, lambda_: float = 1.05) -> Any:
    return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def softmax(x: Any) -> Any:
    e = jnp.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def dense(x: Any, w: Any, b: Any) -> Any:
    return jnp.maximum(x @ w + b, 0)


def n_body(p: Any) -> Any:
    d = p[None, :, :] - p[:, None, :]
    r2 = jnp.sum(d * d, axis=-1) + 1e-3
    return jnp.sum(d * (r2 ** -1.5)[:, :, None], axis=1)


def heat(u: Any) -> Any:
    def step(i: Any, u: Any) -> Any:
        p = jnp.pad(u, 1)
        return u + 0.1 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)
    return jax.lax.fori_loop(0, 100, step, u)


def rnn(w: Any, b: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = jnp.tanh(w @ h + x + b)
        return h, h
    return jax.lax.scan(step, jnp.zeros(64), xs)[1]


def normal(*shape: int) -> Any:
    return jnp.asarray(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


# (program, its arguments, bytes that must be moved, floating point operations that must be done)
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], float, float]] = [
    (selu, (normal(1_000_000),), 8e6, 0),
    (softmax, (normal(4096, 1024),), 32e6, 0),
    (dense, (normal(256, 784), normal(784, 512), normal(512)), 0, 2.0 * 256 * 784 * 512),
    (n_body, (normal(1024, 3),), 0, 20.0 * 1024 * 1024),
    (heat, (normal(1024, 1024),), 100 * 8.4e6, 0),
    (rnn, (normal(64, 64), normal(64), normal(1000, 64)), 0, 2.0 * 64 * 64 * 1000),
]


def main() -> None:
    limits = measure_limits()
    parts = [HEAD.format(cache=limits.cache_bandwidth / 1e9, memory=limits.memory_bandwidth / 1e9,
                         flops=limits.flops / 1e9)]
    parts += [section(*program, limits) for program in PROGRAMS]
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_text("\n".join(parts))
    print(f"wrote {target}")


HEAD = """# Six programs and their kernels

Written by `python benchmarks/kernels.py`; run it again after a change of the code generator. The machine's limits in
this run: {cache:.0f} GB/s copying in cache, {memory:.0f} GB/s beyond it, {flops:.0f} GFLOP/s (float32, by the BLAS).
The C is what is compiled, without the part that every file begins with and without pasted math functions.
"""


def section(function: Callable[..., Any], args: tuple[Any, ...], nbytes: float, flops: float, limits: Limits) -> str:
    lowered = jax.jit(function).lower(*args)
    seconds = fastest(lowered.compile(), args)
    shortest = limits.seconds(nbytes, flops)
    unit = f"{nbytes / 1e6:.0f} MB" if nbytes else f"{flops / 1e6:.0f} Mflop"
    return "\n".join([
        f"## {function.__name__}", "", "```python", inspect.getsource(function).rstrip(), "```", "",
        f"{seconds * 1e3:.3g} ms; the least possible is {unit} in {shortest * 1e3:.3g} ms: "
        f"{shortest / seconds:.0%} of the limit.", "",
        "```text", str(lowered.kernels), "```", "", "```c", own_text(lowered.as_text()), "```", ""])


def fastest(call: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Return the shortest of many calls, in seconds."""
    times = []
    until = time.perf_counter() + 1
    while time.perf_counter() < until:
        start = time.perf_counter()
        call(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def own_text(text: str) -> str:
    """Return the functions that belong to this program alone."""
    starts = [text.find(mark) for mark in ("static void tt_kernel", "int32_t tt_entry(")]
    return text[min(start for start in starts if start >= 0):].rstrip()


if __name__ == "__main__":
    main()
