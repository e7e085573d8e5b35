"""Shapes as values: what several shapes broadcast to."""
from __future__ import annotations

from collections.abc import Sequence


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that arrays of `shapes` have after broadcasting.

    Raises: ValueError when sizes disagree.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.broadcast_shapes.html.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    rank = max(map(len, shapes), default=0)
    result = []
    for sizes in zip(*[(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes], strict=True):
        larger = {size for size in sizes if size != 1}
        if len(larger) > 1:
            raise ValueError(f"Incompatible shapes for broadcasting: shapes={[tuple(shape) for shape in shapes]}")
        result.append(larger.pop() if larger else 1)
    return tuple(result)
