"""Write docs/kernels.md: what some programs become, their C, and how far from the machine's limit they run.

    python benchmarks/kernels.py [FILE]
"""
from __future__ import annotations

import inspect
import pathlib
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from limits import Limits, measure_limits

import tinytrace as jax
import tinytrace.numpy as jnp
from tinytrace.codegen.ir.kernel import Kernel, Repeat
from tinytrace.runtime.threads import num_threads

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


# (program, its arguments, passes over memory or operations that it cannot do without, what keeps it from the limit)
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], int, float, str]] = [
    (selu, (normal(1_000_000),), 1, 0, "The rest is the exponential: a dozen operations for each element."),
    (softmax, (normal(4096, 1024),), 1, 0, "A row stays in the first-level cache; the rest is the exponential."),
    (dense, (normal(256, 784), normal(784, 512), normal(512)), 0, 2.0 * 256 * 784 * 512,
     "A product of this size has fewer operations for each number that is read than a large one."),
    (n_body, (normal(1024, 3),), 0, 20.0 * 1024 * 1024,
     "Of the 20 operations one is a square root and one a division, and each takes as long as ten products."),
    (heat, (normal(1024, 1024),), 100, 0, "The two states, 8.4 MB, do not fit into the second-level cache."),
    (rnn, (normal(64, 64), normal(64), normal(1000, 64)), 0, 2.0 * 64 * 64 * 1000,
     "A step waits for the last one, and within it the tangent for the product: one thread, a chain of latencies."),
]


def main() -> None:
    limits = measure_limits(num_threads())
    parts = [HEAD.format(limits=limits)]
    parts += [section(*program, limits) for program in PROGRAMS]
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_text("\n".join(parts))
    print(f"wrote {target}")


HEAD = """# Six programs and their kernels

Written by `python benchmarks/kernels.py`; run it again after a change of the code generator. The limit of a program is
the time in which the machine can copy as many bytes as it has to move, within as large a working set, or do as many
multiply-adds as it has to do (`benchmarks/limits.c`). In this run, {limits}.

In one pass over memory every input and every output is touched once. The C is what is compiled, without the part that
every file begins with and without pasted math functions, which [math.md](math.md) is about.
"""


def section(function: Callable[..., Any], args: tuple[Any, ...], passes: int, flops: float, why: str,
            limits: Limits) -> str:
    lowered = jax.jit(function).lower(*args)
    compiled = lowered.compile()
    seconds = fastest(compiled, *args)
    data = sum(x.nbytes for x in (*args, *jax.tree.leaves(compiled(*args))))
    shortest = limits.seconds(passes * data, flops, max(passes, 1))
    work = f"{flops / 1e6:.0f} Mflop" if flops else f"{passes} x {data / 1e6:.1f} MB"
    return "\n".join([
        f"## {function.__name__}", "", "```python", inspect.getsource(function).rstrip(), "```", "",
        f"{seconds * 1e3:.3g} ms. The limit, {work}, is {shortest * 1e3:.3g} ms: {shortest / seconds:.0%} of it. "
        f"Passes over memory: {moved(lowered.kernels) / data:.3g}. {why}", "",
        "```text", str(lowered.kernels), "```", "", "```c", lowered.as_text().rstrip(), "```", ""])


def moved(kernels: Iterable[Kernel]) -> float:
    """Return the bytes that kernels read and write, those of loops in every iteration."""
    return sum(kernel.length * moved(kernel.body) if isinstance(kernel, Repeat)
               else kernel.bytes_read + kernel.bytes_written for kernel in kernels)


def fastest(call: Callable[..., Any], *args: Any) -> float:
    """Return the shortest of many calls, in seconds."""
    times = []
    until = time.perf_counter() + 1
    while time.perf_counter() < until:
        start = time.perf_counter()
        call(*args)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
