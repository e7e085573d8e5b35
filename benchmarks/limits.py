"""The machine's physical limits, measured by limits.c: bandwidth by size of the working set, and peak multiply-adds."""
from __future__ import annotations

import ctypes
import pathlib
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

SOURCE = pathlib.Path(__file__).parent / "limits.c"
LINE = 64  # bytes of a cache line: each thread's part begins on one
SIZES = [1 << k for k in range(17, 28)]
"""Working sets in bytes, from 128 KiB to 128 MiB: each cache, and the memory beyond."""


@dataclass
class Limits:
    """What `threads` can do: bytes per second by working set, reading only or copying, and float32 flops per second."""

    threads: int
    flops: float = 0
    read: dict[int, float] = field(default_factory=dict)
    copy: dict[int, float] = field(default_factory=dict)

    def seconds(self, nbytes: float, flops: float, passes: float = 1, reads_only: bool = False) -> float:
        """Return the shortest time in which `nbytes` can be moved, in `passes` over a working set, and `flops` done."""
        table = self.read if reads_only else self.copy
        size = next((s for s in SIZES if s >= nbytes / passes), SIZES[-1])
        return max(nbytes / table[size], flops / self.flops)

    def __str__(self) -> str:
        sizes = [1 << 19, 1 << 23, 1 << 27]
        return (f"{self.threads} thread{'s' * (self.threads > 1)}: {self.flops / 1e9:.0f} GFLOP/s (float32); "
                + "; ".join(f"{s / 2**20:g} MiB: {self.read[s] / 1e9:.0f} GB/s read, {self.copy[s] / 1e9:.0f} copied"
                            for s in sizes))


def measure_limits(threads: int) -> Limits:
    """Measure with `threads` threads that work on parts of the same working set."""
    with tempfile.TemporaryDirectory() as folder:
        library = _compile(pathlib.Path(folder) / "limits.so")
    limits = Limits(threads)
    source, target = _aligned(SIZES[-1]), _aligned(SIZES[-1])
    with ThreadPoolExecutor(threads) as pool:
        limits.flops = threads * library.limit_flops_per_turn() * _rate(
            pool, threads, lambda _, n: library.limit_multiply_add(n), 1000)
        for size in SIZES:
            part = size // threads // LINE * LINE

            def read(i: int, n: int, part: int = part) -> None:
                library.limit_read(source + i * part, part, n)

            def copy(i: int, n: int, part: int = part) -> None:
                library.limit_copy(source + i * part // 2, target + i * part // 2, part // 2, n)

            def stream(i: int, n: int, part: int = part) -> None:
                library.limit_stream(source + i * part // 2, target + i * part // 2, part // 2, n)

            limits.read[size] = threads * part * _rate(pool, threads, read)
            limits.copy[size] = threads * part * max(_rate(pool, threads, copy), _rate(pool, threads, stream))
    return limits


def _rate(pool: ThreadPoolExecutor, threads: int, work: Callable[[int, int], None], turns: int = 1) -> float:
    """Return how many turns per second `work(thread, turns)` makes at best, all threads at it at the same time."""
    best = 0.0
    meet = threading.Barrier(threads)

    def together(thread: int, turns: int) -> None:
        meet.wait()  # else one thread could do the work of two
        work(thread, turns)

    for _ in range(6):
        seconds = 0.0
        while seconds < 5e-3:  # long against the start of threads
            start = time.perf_counter()
            list(pool.map(together, range(threads), [turns] * threads))
            seconds = time.perf_counter() - start
            best = max(best, turns / seconds)
            turns = turns if seconds >= 5e-3 else turns * 2
    return best


def _compile(target: pathlib.Path) -> ctypes.CDLL:
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", str(target), str(SOURCE)], check=True)
    library = ctypes.CDLL(str(target))
    address, count = ctypes.c_void_p, ctypes.c_int64
    library.limit_read.argtypes = [address, count, count]
    library.limit_copy.argtypes = library.limit_stream.argtypes = [address, address, count, count]
    library.limit_multiply_add.argtypes = [count]
    library.limit_flops_per_turn.restype = count
    library.limit_read.restype = library.limit_multiply_add.restype = ctypes.c_float
    return library


_kept: list[np.ndarray[tuple[int], np.dtype[np.uint8]]] = []


def _aligned(nbytes: int) -> int:
    """Return the address of `nbytes` of memory, on a boundary of large pages, written once."""
    _kept.append(np.ones(nbytes + (1 << 21), np.uint8))
    return -(-_kept[-1].ctypes.data // (1 << 21)) * (1 << 21)


if __name__ == "__main__":
    for threads in (1, 2):
        print(measure_limits(threads))
