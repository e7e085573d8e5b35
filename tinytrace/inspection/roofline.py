"""The roof of this machine, measured, and the roofline plot as SVG.

A kernel that moves `b` bytes and does `f` operations cannot take less time than b / bandwidth, nor than f / peak.
Source: S. Williams, A. Waterman, D. Patterson, "Roofline", Communications of the ACM 52, 2009.
"""
from __future__ import annotations

import functools
import html
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.jit import jit
from tinytrace.numpy import asarray
from tinytrace.records import NamedTuple

SIZES = (2**18, 2**22, 2**26)
"""Working sets in bytes at which the bandwidth is measured: caches of two kinds, and memory."""
PRODUCT = 512
"""Rows of the square matrices whose product measures the peak."""


class Roof(NamedTuple):
    """What this machine can do: measured once in a process, with this package's own programs."""

    bandwidths: tuple[tuple[int, float], ...]
    """Bytes of a working set, and bytes per nanosecond that a copy with one addition reads and writes."""
    peak: float
    """Operations on float32 per nanosecond, of a product of matrices."""

    def bandwidth(self, nbytes: int) -> float:
        """Return bytes per nanosecond for a working set of so many bytes."""
        return next((rate for size, rate in self.bandwidths if nbytes <= size), self.bandwidths[-1][1])

    def least(self, nbytes: int, flops: int) -> float:
        """Return the least nanoseconds that so many bytes and operations take."""
        return max(nbytes / self.bandwidth(nbytes), flops / self.peak)


@functools.cache
def measured_roof() -> Roof:
    """Return the roof of this machine, measured in about a fifth of a second."""
    add = jit(lambda x: x + 1)
    rates = []
    for size in SIZES:
        x = asarray(np.ones(size // 8, np.float32))  # half of the working set is the result
        rates.append((size, size / _fastest(lambda x=x: add(x))))  # type: ignore[misc]
    m = asarray(np.ones((PRODUCT, PRODUCT), np.float32))
    product = jit(lambda m: m @ m)
    return Roof(tuple(rates), 2 * PRODUCT**3 / _fastest(lambda: product(m)))


def _fastest(call: Callable[[], Any]) -> float:
    """Return the least nanoseconds of a call, over a fiftieth of a second."""
    call()
    best, deadline = math.inf, time.perf_counter_ns() + 20_000_000
    while (begin := time.perf_counter_ns()) < deadline or best == math.inf:
        call()
        best = min(best, time.perf_counter_ns() - begin)
    return best


# --- the plot -------------------------------------------------------------------------------------------------------

class Point(NamedTuple):
    """A kernel in the plot: operations per byte, operations per nanosecond, and what it is."""

    intensity: float
    rate: float
    label: str


WIDTH, HEIGHT, LEFT, BOTTOM = 640, 400, 60, 50


def roofline_svg(points: Sequence[Point], roof: Roof) -> str:
    """Return the roofline plot: both axes logarithmic, a line for each bandwidth, a dot for each kernel."""
    shown = [p for p in points if p.intensity > 0 and p.rate > 0]
    slow = roof.bandwidths[-1][1]
    xs = [p.intensity for p in shown] + [roof.peak / slow, 0.1]
    ys = [p.rate for p in shown] + [roof.peak, 0.1 * slow]
    (x0, x1), (y0, y1) = (_decades(values) for values in (xs, ys))

    def at(x: float, y: float) -> tuple[float, float]:
        right = LEFT + (WIDTH - LEFT - 10) * (math.log10(x) - x0) / (x1 - x0)
        up = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 10) * (math.log10(y) - y0) / (y1 - y0)
        return round(right, 1), round(up, 1)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
             'font-family="sans-serif" font-size="12" fill="currentColor">'
             f'<title>Roofline: {len(shown)} kernels</title>']
    parts += _axes(at, (x0, x1), (y0, y1))
    for size, bandwidth in roof.bandwidths:
        (a, b), (c, d) = at(10**x0, bandwidth * 10**x0), at(roof.peak / bandwidth, roof.peak)
        parts.append(f'<path d="M{a} {b}L{c} {d}" stroke="#0072b2" fill="none"><title>{bandwidth:.1f} GB/s in '
                     f'{size // 1024} KiB</title></path>')
    (a, b), (c, d) = at(roof.peak / roof.bandwidths[0][1], roof.peak), at(10**x1, roof.peak)
    peak = f"<title>{roof.peak:.1f} Gflop/s</title>"
    parts.append(f'<path d="M{a} {b}L{c} {d}" stroke="#d55e00" fill="none">{peak}</path>')
    for k, p in enumerate(shown):
        x, y = at(p.intensity, p.rate)
        parts.append(f'<circle cx="{x}" cy="{y}" r="5" fill="#009e73"><title>{html.escape(p.label)}</title></circle>'
                     f'<text x="{x + 7}" y="{y + 4}">{k}</text>')
    return "\n".join([*parts, "</svg>"])


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _axes(at: Callable[[float, float], tuple[float, float]], xs: tuple[int, int], ys: tuple[int, int]) -> list[str]:
    parts = []
    for k in range(xs[0], xs[1] + 1):
        x, y = at(10.0**k, 10.0 ** ys[0])
        parts.append(f'<text x="{x}" y="{y + 16}" text-anchor="middle">{10.0**k:g}</text>')
    for k in range(ys[0], ys[1] + 1):
        x, y = at(10.0 ** xs[0], 10.0**k)
        parts.append(f'<text x="{x - 6}" y="{y + 4}" text-anchor="end">{10.0**k:g}</text>')
    parts.append(f'<path d="M{LEFT} 10V{HEIGHT - BOTTOM}H{WIDTH - 10}" stroke="currentColor" fill="none"/>')
    parts.append(f'<text x="{WIDTH // 2}" y="{HEIGHT - 12}" text-anchor="middle">operations per byte</text>')
    parts.append(f'<text x="14" y="{HEIGHT // 2}" text-anchor="middle" transform="rotate(-90 14 {HEIGHT // 2})">'
                 'Gflop/s</text>')
    return parts
