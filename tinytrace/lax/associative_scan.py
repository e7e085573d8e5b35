"""`associative_scan`: all prefix combinations of an associative function, in logarithmic depth."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.core.trees import tree_flatten, tree_leaves, tree_unflatten
from tinytrace.primitives.arithmetic import add
from tinytrace.primitives.bitwise import bitwise_or
from tinytrace.primitives.checks import canonicalize_axis
from tinytrace.primitives.concatenation import concatenate
from tinytrace.primitives.shaping import rev
from tinytrace.primitives.slicing import pad, slice_in_dim
from tinytrace.tracebacks import api_boundary

Arrays = list[Any]


@api_boundary
def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Return `[a, fn(a, b), fn(fn(a, b), c), ...]` for `elems = [a, b, c, ...]` along `axis`.

    `fn` combines two pytrees like `elems` elementwise along `axis` and must be associative.
    Raises ValueError when the arrays' lengths disagree.
    Source: Blelloch, "Prefix Sums and Their Applications" (1990); `jax.lax.associative_scan`.

    >>> associative_scan(lambda a, b: a + b, np.arange(4))
    Array([0, 1, 3, 6], dtype=int32)
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    elems_flat, tree = tree_flatten(elems)
    if reverse:
        elems_flat = [rev(x, [axis]) for x in elems_flat]
    axis = canonicalize_axis(axis, elems_flat[0].ndim)
    if len({x.shape[axis] for x in elems_flat}) > 1:
        raise ValueError("Array inputs to associative_scan must have the same first dimension. "
                         f"(saw: {[x.shape for x in elems_flat]})")

    def combine(a: Arrays, b: Arrays) -> Arrays:
        return tree_leaves(fn(tree_unflatten(tree, a), tree_unflatten(tree, b)))

    scans = _scan(combine, elems_flat, axis)
    if reverse:
        scans = [rev(x, [axis]) for x in scans]
    return tree_unflatten(tree, scans)


def _scan(combine: Callable[[Arrays, Arrays], Arrays], elems: Arrays, axis: int) -> Arrays:
    """Scan the sums of neighbours, which are the results at odd places, and fill in the even places between them."""
    length = elems[0].shape[axis]
    if length < 2:
        return elems

    def part(xs: Arrays, start: int, stop: int | None, stride: int = 1) -> Arrays:
        return [slice_in_dim(x, start, stop, stride=stride, axis=axis) for x in xs]

    odd = _scan(combine, combine(part(elems, 0, -1, 2), part(elems, 1, None, 2)), axis)
    left = part(odd, 0, -1) if length % 2 == 0 else odd
    even = combine(left, part(elems, 2, None, 2))
    even = [concatenate([slice_in_dim(x, 0, 1, axis=axis), e], axis) for x, e in zip(elems, even, strict=True)]
    return [_interleave(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _interleave(a: Any, b: Any, axis: int) -> Any:
    """Return a[0], b[0], a[1], b[1], ... along `axis`; `a` may be one longer."""
    longer = a.shape[axis] - b.shape[axis]
    a_pad, b_pad = [(0, 0, 0)] * a.ndim, [(0, 0, 0)] * b.ndim
    a_pad[axis], b_pad[axis] = (0, 1 - longer, 1), (1, longer, 1)
    zero = np.zeros((), a.dtype)[()]
    join = bitwise_or if a.dtype == np.bool_ else add
    return join(pad(a, zero, a_pad), pad(b, zero, b_pad))
