"""Machines as numbers, one that is made up and the one that you sit at; and the sizes of values."""

import functools
import math
import time
from dataclasses import dataclass

import tinytrace as jax
import tinytrace.numpy as jnp


@dataclass(frozen=True)
class Machine:
    """What a processor can do at best.

    Args:
      flops: operations on numbers, per second.
      levels: pairs (bytes, bytes per second) of its memories, the smallest and fastest first; the last has no end.
    """

    flops: float
    levels: tuple


LAPTOP = Machine(5e10, ((32e3, 2e11), (1e6, 1e11), (math.inf, 1e10)))
"""A small computer that does not exist: 50 billion operations per second, and 10 GB per second from its main memory."""


def nbytes(atom):
    """How many bytes a value has."""
    return atom.aval.size * atom.aval.dtype.itemsize


def loops_of(m, f, x):
    """How many loops one of the small compilers makes of a function."""
    return len(m.fuse(m.live(m.inlined(m.make_jaxpr(lambda x: f(m, x))(x)))))


def seconds_measured(f, *args):
    """The fastest of several calls of a jitted function."""
    f(*args)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        f(*args).block_until_ready()
        times.append(time.perf_counter() - start)
    return min(times)


@functools.cache
def this_machine():
    """The bandwidth that `x + 1.0` reaches here, for arrays in a cache and in main memory; and the peak of a chain of products."""
    add = jax.jit(lambda x: x + 1.0)
    sizes = (60_000, 16_000_000)
    bandwidths = [8 * n / seconds_measured(add, jnp.ones(n)) for n in sizes]
    levels = [(16 * n, bandwidth) for n, bandwidth in zip(sizes, bandwidths, strict=True)]
    levels[-1] = (math.inf, bandwidths[-1])
    return Machine(200 * 20_000 / seconds_measured(jax.jit(products), jnp.ones(20_000)), tuple(levels))


def products(x):
    """Two hundred operations for each element."""
    for _ in range(100):
        x = x * 0.999 + 0.001
    return x
