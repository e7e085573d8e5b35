"""Convolution of an image with holes (a stride that enlarges it): one of the image itself for each phase of the result.

Between the d-th elements of the dilated image are zeros, and of the taps of a kernel every d-th meets no zero. Which
ones these are depends on the place in the result modulo d, its phase:

    out[d * q + f] = sum over j of image[q + j - low] * kernel[first + d * j]

So there are d convolutions with kernels of a d-th of the taps, whose results stand side by side: for each dimension the
d-th part of the work. The gradient of a convolution with strides is one of these.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.convolution_dimensions import ConvDimensionNumbers
from tinytrace.primitives.shaping import reshape
from tinytrace.primitives.slicing import slice as slice_
from tinytrace.primitives.windows import Ints, Pads, window_counts
from tinytrace.records import NamedTuple

MUCH_WORK = 1 << 18
"""Multiplications from which on several convolutions are worth their text."""


class Phase(NamedTuple):
    """One of the convolutions along a dimension: `kernel[first::step]`, and the padding of the image for it."""

    first: int
    pads: tuple[int, int]


class Phases(NamedTuple):
    """The convolutions along a dimension of the image, and how many results they have together."""

    axis: int
    each: list[Phase]
    places: int


def phases_of(image: Sequence[int], kernel: Sequence[int], *, window_strides: Ints, padding: Pads, lhs_dilation: Ints,
              rhs_dilation: Ints, dimension_numbers: ConvDimensionNumbers, **others: Any) -> Phases | None:
    """Return the phases of the first dimension that is dilated and convolved place by place, where that is worth it."""
    lhs_spec, rhs_spec, _ = dimension_numbers
    sizes, taps = [image[k] for k in lhs_spec[2:]], [kernel[k] for k in rhs_spec[2:]]
    axis = next((k for k, step in enumerate(lhs_dilation)
                 if step > 1 and window_strides[k] == rhs_dilation[k] == 1 and taps[k] >= step), None)
    if axis is None:
        return None
    places = window_counts(tuple(sizes), tuple(taps), window_strides, padding, lhs_dilation, rhs_dilation)
    if image[lhs_spec[0]] * math.prod(places) * math.prod(kernel) < MUCH_WORK:
        return None
    return Phases(axis, phases(sizes[axis], taps[axis], padding[axis][0], places[axis], lhs_dilation[axis]),
                  places[axis])


def convolved_by_phases(convolve: Callable[..., Any], image: Any, kernel: Any, found: Phases,
                        params: Mapping[str, Any]) -> Any:
    """Return what `convolve(image, kernel, **params)` is: of a part of the kernel for each phase, side by side."""
    _, rhs_spec, out_spec = params["dimension_numbers"]
    tap_axis, (axis, each, places) = rhs_spec[2 + found.axis], found
    holes = _with(params["lhs_dilation"], axis, 1)
    parts = [convolve(image, _part(kernel, tap_axis, np.shape(kernel)[tap_axis], phase.first, len(each)),
                      **{**params, "padding": _with(params["padding"], axis, phase.pads), "lhs_dilation": holes})
             for phase in each]
    return _interleaved(parts, out_spec[2 + axis], places)


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


def _with(items: Sequence[Any], k: int, item: Any) -> tuple[Any, ...]:
    """Return items with another k-th one."""
    return *items[:k], item, *items[k + 1:]
