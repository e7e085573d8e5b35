"""Products of complex numbers in loops that store them are written so that vectors hold the parts as they lie.

    c[i] = __builtin_complex(re(a[i]) * re(b[i]) + tt_neg_f32(im(a[i]) * im(b[i])),
                             re(a[i]) * im(b[i]) + tt_plain_f32(im(a[i]) * re(b[i])))

Both parts are the same operations then, on neighbours, with another mask for the sign (`csrc/math/bits.h`): gcc
exchanges lanes three times for a vector. Of a sum beside a difference it makes vectors of real and of imaginary parts,
with ten exchanges across lanes, or rounds once ("paired products" in `quirks.py`). A product of two arrays of complex64
takes 0.55 of the time (Zen 3), of reversed or strided ones 0.3 to 0.5. Not where a loop folds, which has no vectors so
(2.5 times the time), multiplies more often, or has so much else to do with the parts that they are better apart.
"""
from __future__ import annotations

import functools

from tinytrace.codegen.ir.cost import steps
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import Declare, For, Store, expressions
from tinytrace.core.dtypes import DType, is_complex
from tinytrace.core.formulas import Formula, operand, product

MOST_PRODUCTS = 2
"""In a loop. A square of a square, and a Horner scheme of degree 3, take 1.1 times the time."""
MOST_STEPS = 8
"""In a loop. Ten steps of a Mandelbrot set, with magnitudes, take 1.35 times the time."""


def complex_product(loop: For | None, node: Node) -> Formula | None:
    """Return how a product of complex numbers is written, if the vectors of its loop hold the parts as they lie."""
    if not _is_product(node) or loop is None or not _stores_few_products(loop):
        return None
    return _with_signs(node.dtype)


def _is_product(node: Node) -> bool:
    return node.dtype is not None and is_complex(node.dtype) and node.op == "apply" and node.args[0].name == "mul"


def _stores_few_products(loop: For) -> bool:
    if not loop.simd or not all(isinstance(stmt, (Declare, Store)) for stmt in loop.body):
        return False
    products, work = MOST_PRODUCTS, MOST_STEPS
    for node in walk(root for stmt in loop.body for root in expressions(stmt)):
        products -= _is_product(node)
        work -= steps(node.args[0]) if node.op == "apply" else 0
        if products < 0 or work < 0:
            return False
    return True


@functools.cache
def _with_signs(dtype: DType) -> Formula:
    return product(operand(0, dtype), operand(1, dtype), signs=True)
