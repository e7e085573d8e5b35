"""Small integers divided by a known number, `image.astype(float32) / 255`, are three products: to the same bits.

    q = x * (1 / c);  q + (x - q * c) * (1 / c), each rounded once

A division of 16 floats takes a CPU 16 cycles, and this three. Whether it gives what a division gives is asked of every
integer that the type has, when the C is written: for those of 8 and 16 bits it does with nearly every divisor. That it
does is Markstein's theorem where q is one of the two numbers next to the quotient ("Computation of elementary functions
on the IBM RISC System/6000 processor", 1990), which a rounded reciprocal does not promise.
"""
from __future__ import annotations

import functools

import numpy as np

from tinytrace.codegen.ir.nodes import Node, value_of
from tinytrace.codegen.ir.statements import For
from tinytrace.core.dtypes import FLOAT32, DType, is_integer
from tinytrace.core.formulas import Formula, call_named, operand


def known_quotient(loop: For | None, node: Node) -> Formula | None:
    """Return how a division in a vectorised loop is written, if it is one of small integers by a known number."""
    if node.args[0].name != "div" or node.dtype != FLOAT32 or loop is None or not loop.simd:
        return None
    x, c = node.children
    if x.op != "apply" or x.args[0].name != "convert_element_type" or c.op != "literal":
        return None
    source = x.children[0].dtype
    if source is None or not is_integer(source) or source.itemsize > 2 or not _is_same(source, float(value_of(c))):
        return None
    return call_named("tt_quotient_f32", operand(0, FLOAT32), operand(1, FLOAT32))


@functools.lru_cache(maxsize=256)
def _is_same(source: DType, divisor: float) -> bool:
    """Is every integer divided so, by a float, what a division makes of it?

    In double precision products are exact, and the sum is off by less than its neighbours.
    """
    limits = np.iinfo(source)
    c = np.float32(divisor)
    if not 2.0 ** -60 < abs(c) < 2.0 ** 60:
        return False
    x = np.arange(limits.min, int(limits.max) + 1, dtype=np.float64)
    r = np.float64(_reciprocal(c))
    q = (x * r).astype(np.float32).astype(np.float64)
    left = (x - q * np.float64(c)).astype(np.float32).astype(np.float64)
    total = q + left * r
    want = x.astype(np.float32) / c
    neighbours = [np.where(x == 0, total, np.nextafter(total, end)) for end in (-np.inf, np.inf)]
    return all(np.array_equal(near.astype(np.float32), want) for near in (total, *neighbours))


def _reciprocal(c: np.float32) -> np.float32:
    return np.float32(1) / c
