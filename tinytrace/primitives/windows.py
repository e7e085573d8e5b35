"""Sliding windows over an array: what pooling and convolution are made of.

`windows` lays out every window of an array. It moves elements only, so that a compiled reduction of it reads the array
in place.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.kinds import Expr, Index, IndexMap, IntLike, Kind, all_of, where
from tinytrace.core.primitive import ALL, Primitive, refuse
from tinytrace.primitives.shaping import NDArray
from tinytrace.primitives.slicing import dilated, pad, pad_p, slice

Ints: TypeAlias = tuple[int, ...]
Pads: TypeAlias = Sequence[tuple[int, int]]


def windows(x: Any, fill: Any, window_dimensions: Ints, window_strides: Ints, padding: Pads, base_dilation: Ints,
            window_dilation: Ints) -> Any:
    """Return the windows of `x`: the dimensions of `x` count windows, as many more run inside them."""
    return windows_p.bind(x, fill, window_dimensions=window_dimensions, window_strides=window_strides,
                          padding=tuple(padding), base_dilation=base_dilation, window_dilation=window_dilation)


def members(x: Any, fill: Any, window_dimensions: Ints, window_strides: Ints, padding: Pads, base_dilation: Ints,
            window_dilation: Ints) -> list[Any]:
    """Return for each place in a window the elements that stand there in all windows: slices of what `x` is padded to.

    There is a window at least along each dimension. What is computed of a few of these is a loop that is cut where
    windows hang over (`codegen/passes/index_set_splitting.py`): inside, no element is asked whether it is there.
    """
    counts = window_counts(np.shape(x), window_dimensions, window_strides, padding, base_dilation, window_dilation)
    padded = pad(x, fill, [(low, high, base - 1) for (low, high), base in zip(padding, base_dilation, strict=True)])
    result = []
    for place in np.ndindex(*window_dimensions):
        start = [k * step for k, step in zip(place, window_dilation, strict=True)]
        limit = [s + (count - 1) * stride + 1 for s, count, stride in zip(start, counts, window_strides, strict=True)]
        result.append(slice(padded, start, limit, window_strides))
    return result


def window_counts(shape: Ints, window_dimensions: Ints, window_strides: Ints, padding: Pads, base_dilation: Ints,
                  window_dilation: Ints) -> Ints:
    """Return how many windows there are along each dimension."""
    counts = []
    for size, width, stride, (low, high), base, step in zip(shape, window_dimensions, window_strides, padding,
                                                            base_dilation, window_dilation, strict=True):
        room = dilated(size, base - 1) + low + high - dilated(width, step - 1)
        counts.append(room // stride + 1 if room >= 0 else 0)
    return tuple(counts)


def padtype_to_pads(shape: Sequence[int], window: Sequence[int], strides: Sequence[int],
                    padding: str) -> list[tuple[int, int]]:
    """Return (low, high) for each dimension: nothing for VALID, what keeps the size (over the stride) for SAME.

    >>> padtype_to_pads((5,), (2,), (1,), "SAME")
    [(0, 1)]
    """
    kind = padding.upper()
    if kind not in ("VALID", "SAME", "SAME_LOWER"):
        raise RuntimeError(f"Unrecognized padding type: expected 'VALID' or 'SAME', got {padding}.")
    if kind == "VALID":
        return [(0, 0)] * len(shape)
    totals = [(-(-size // stride) - 1) * stride + width - size
              for size, width, stride in zip(shape, window, strides, strict=False)]  # bind says what does not fit
    totals = [total if total > 0 else 0 for total in totals]
    if kind == "SAME":
        return [(total // 2, total - total // 2) for total in totals]
    return [(total - total // 2, total // 2) for total in totals]


def transposed_pads(shape: Sequence[int], window: Sequence[int], strides: Sequence[int], counts: Sequence[int],
                    padding: Pads, base_dilation: Sequence[int],
                    window_dilation: Sequence[int]) -> list[tuple[int, int]]:
    """Return the padding with which windows over cotangents give back the shape of the operand."""
    pads = []
    for size, width, stride, count, (low, _), base, step in zip(shape, window, strides, counts, padding, base_dilation,
                                                                window_dilation, strict=True):
        length, reach = dilated(size, base - 1), dilated(width, step - 1)
        before = reach - low - 1
        pads.append((before, length + reach - 1 - dilated(count, stride - 1) - before))
    return pads


class Windows(Primitive):
    """`windows[...] x: f32[n] fill: f32[]` is f32[m,k]: the m windows of k elements, `fill` where one hangs over.

    It stands only in programs that rooms write, after differentiation and batching.
    """

    name = "windows"
    reads = ALL

    def abstract_eval(self, x: ShapedArray, fill: ShapedArray, **params: Any) -> ShapedArray:
        return x.update(shape=(*window_counts(x.shape, **params), *params["window_dimensions"]))

    def impl(self, x: NDArray, fill: NDArray, *, window_dimensions: Ints, window_strides: Ints, padding: Pads,
             base_dilation: Ints, window_dilation: Ints) -> NDArray:
        config = [(low, high, step - 1) for (low, high), step in zip(padding, base_dilation, strict=True)]
        padded = pad_p.impl(x, fill, padding_config=config)
        widths = [dilated(size, step - 1) for size, step in zip(window_dimensions, window_dilation, strict=True)]
        if any(width > size for width, size in zip(widths, padded.shape, strict=True)):
            counts = window_counts(x.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)
            return np.zeros((*counts, *window_dimensions), x.dtype)
        every = np.lib.stride_tricks.sliding_window_view(padded, widths)
        steps = [np.s_[::step] for step in (*window_strides, *window_dilation)]
        return every[tuple(steps)]

    jvp = refuse("it stands only in programs that rooms write")
    transpose = refuse("it stands only in programs that rooms write")
    batch = refuse("it stands only in programs that rooms write")

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, window_dimensions: Ints,
              window_strides: Ints, padding: Pads, base_dilation: Ints, window_dilation: Ints) -> Kind:
        shape, counts = in_avals[0].shape, out_avals[0].shape

        def element(i: Index, read: Any) -> Expr:
            guards: list[Expr] = []
            position: list[IntLike] = []
            for axis, size in enumerate(shape):
                stride, step, base = window_strides[axis], window_dilation[axis], base_dilation[axis]
                low, length = padding[axis][0], dilated(size, base - 1)
                place = i[axis] * stride + i[len(shape) + axis] * step - low
                if low > 0:
                    guards.append(place >= 0)
                if (counts[axis] - 1) * stride + (window_dimensions[axis] - 1) * step - low >= length:
                    guards.append(place < length)
                if base > 1:
                    guards.append((place % base).equals(0))
                position.append(place // base)
            return where(all_of(guards), read(0, position), read(1, ()))

        return IndexMap(element)


windows_p = Windows()
