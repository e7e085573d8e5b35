"""Convolution of each channel with kernels of its own (depthwise): a sum of shifted images, one for each tap.

A product of matrices would have sums of as few terms as there are taps. Written out, it is elementwise: one loop along
whatever lies side by side, and each result is stored once.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinytrace.core.dtypes import FLOAT32, dtype_of, is_half
from tinytrace.primitives.arithmetic import add, mul
from tinytrace.primitives.broadcasting import broadcast_in_dim
from tinytrace.primitives.conversion import convert_element_type_p
from tinytrace.primitives.shaping import reshape
from tinytrace.primitives.slicing import slice as slice_
from tinytrace.primitives.windows import window_counts

MOST_TAPS = 64
"""Larger kernels are not written out: the text of the program grows with them."""


def is_short(taps: Sequence[int]) -> bool:
    """Has a kernel so few taps that they are written out?"""
    return 0 < math.prod(taps) <= MOST_TAPS


def summed_over_taps(image: Any, kernel: Any, strides: Sequence[int], steps: Sequence[int], dtype: Any) -> Any:
    """Return the convolution of each channel of `image: [n, c, ...]` with its m of the kernels `kernel: [c * m, ...]`.

    steps: from tap to tap.  dtype: the type of the result; halves are added up as float32.
    Returns: [n, c * m, ...].
    """
    (batch, channels, *sizes), (features, *taps) = np.shape(image), np.shape(kernel)
    none = ((0, 0),) * len(taps)
    places = window_counts(tuple(sizes), tuple(taps), tuple(strides), none, (1,) * len(taps), tuple(steps))
    wide = FLOAT32 if is_half(dtype) else dtype
    image, kernel = _as(image, wide), _as(kernel, wide)
    total = None
    for tap in np.ndindex(*taps):
        starts = [min(k * step, size) for k, step, size in zip(tap, steps, sizes, strict=True)]
        limits = [start + (count - 1) * stride + 1 if count else start
                  for start, count, stride in zip(starts, places, strides, strict=True)]
        part = slice_(image, (0, 0, *starts), (batch, channels, *limits), (1, 1, *strides))
        if features > channels:
            several = (batch, channels, features // channels, *places)
            part = broadcast_in_dim(part, several, (0, 1, *range(3, len(several))))
            part = reshape(part, (batch, features, *places))
        weight = reshape(slice_(kernel, (0, *tap), (features, *(k + 1 for k in tap))), (features,))
        term = mul(part, broadcast_in_dim(weight, (batch, features, *places), (1,)))
        total = term if total is None else add(total, term)
    return _as(total, dtype)


def _as(x: Any, dtype: Any) -> Any:
    return x if dtype_of(x) == dtype else convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)
