"""Convolution of an image with holes (a stride that enlarges it): one of the image itself for each phase of the result.

Between the d-th elements of the dilated image are zeros, and of the taps of a kernel every d-th meets no zero. Which
ones these are depends on the place in the result modulo d, its phase:

    out[d * q + f] = sum over j of image[q + j - low] * kernel[first + d * j]

So there are d convolutions with kernels of a d-th of the taps, whose results stand side by side: for each dimension the
d-th part of the work. The gradient of a convolution with strides is one of these.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.shaping import reshape
from tinytrace.primitives.slicing import slice as slice_
from tinytrace.records import NamedTuple

MUCH_WORK = 1 << 18
"""Multiplications from which on several convolutions are worth their text."""


class Phase(NamedTuple):
    """One of the convolutions along a dimension: `kernel[first::step]`, and the padding of the image for it."""

    first: int
    pads: tuple[int, int]


def dimension_with_phases(strides: Sequence[int], holes: Sequence[int], steps: Sequence[int],
                          taps: Sequence[int]) -> int | None:
    """Return the first dimension of the image that is dilated and convolved place by place, if there is one."""
    return next((k for k, (stride, hole, step, count) in enumerate(zip(strides, holes, steps, taps, strict=True))
                 if hole > 1 and stride == step == 1 and count >= hole), None)


def convolved_by_phases(convolve: Callable[[Any, tuple[int, int]], Any], kernel: Any, tap_axis: int, out_axis: int,
                        found: Sequence[Phase], places: int) -> Any:
    """Return what `convolve(taps, pads)` gives for each phase, side by side along `out_axis`."""
    taps = np.shape(kernel)[tap_axis]
    parts = [convolve(_part(kernel, tap_axis, taps, phase.first, len(found)), phase.pads) for phase in found]
    return _interleaved(parts, out_axis, places)


def phases(size: int, taps: int, low: int, places: int, step: int) -> list[Phase]:
    """Return the convolutions that give `ceil(places / step)` results each, of a dimension of an image.

    size, taps: of the image without holes and of the kernel.  low: the padding before it.

    >>> phases(size=3, taps=4, low=2, places=6, step=2)
    [Phase(first=0, pads=(1, 0)), Phase(first=1, pads=(0, 1))]
    """
    found = []
    for phase in range(step):
        first = (low - phase) % step
        before = (low - phase - first) // step
        after = math.ceil(places / step) - 1 + len(range(first, taps, step)) - size - before
        found.append(Phase(first, (before, after)))
    return found


def _interleaved(parts: Sequence[Any], axis: int, places: int) -> Any:
    """Return arrays of one shape with their elements along `axis` in turn, the first `places` of them."""
    shape = np.shape(parts[0])
    apart = [reshape(part, (*shape[:axis + 1], 1, *shape[axis + 1:])) for part in parts]
    joined = reshape(concatenate(apart, axis + 1), (*shape[:axis], shape[axis] * len(parts), *shape[axis + 1:]))
    return _part(joined, axis, places)


def _part(x: Any, axis: int, count: int, start: int = 0, step: int = 1) -> Any:
    """Return `x[..., start:count:step, ...]` along an axis."""
    shape = np.shape(x)
    starts = [start if k == axis else 0 for k in range(len(shape))]
    limits = [count if k == axis else size for k, size in enumerate(shape)]
    return slice_(x, tuple(starts), tuple(limits), tuple(step if k == axis else 1 for k in range(len(shape))))
