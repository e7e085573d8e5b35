"""The machine's physical limits, measured: memory bandwidth by size of the working set, and peak multiply-adds."""
from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np


@dataclass
class Limits:
    """Bytes per second for working sets in and beyond the cache, and float32 flops per second."""

    cache_bandwidth: float
    memory_bandwidth: float
    flops: float

    def seconds(self, nbytes: float, flops: float) -> float:
        """Return the shortest time in which `nbytes` can be moved and `flops` computed."""
        bandwidth = self.cache_bandwidth if nbytes < 16e6 else self.memory_bandwidth
        return max(nbytes / bandwidth, flops / self.flops)


def measure_limits() -> Limits:
    """Measure with NumPy: copies within and beyond the last-level cache, and a large matrix product (BLAS)."""
    return Limits(_copy_bandwidth(1 << 20), _copy_bandwidth(1 << 25), _matmul_flops())


def _best(call: object, repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()  # type: ignore[operator]
        times.append(time.perf_counter() - start)
    return min(times)


def _copy_bandwidth(n: int) -> float:
    source, target = np.ones(n, np.float32), np.empty(n, np.float32)
    return 8.0 * n / _best(lambda: np.copyto(target, source), 30)


def _matmul_flops() -> float:
    a = np.ones((1536, 1536), np.float32)
    out = np.empty_like(a)
    return 2.0 * 1536**3 / _best(lambda: np.matmul(a, a, out=out), 8)
