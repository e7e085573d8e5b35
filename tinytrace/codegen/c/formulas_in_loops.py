"""The formula of an operation depends on where it stands: the CPU may compute the type, vectors may want other words.

Each rule has a file of its own, and says when it holds; the bits are those of the primitive's own formula.
"""
from __future__ import annotations

from tinytrace.codegen.c.complex_products import complex_product
from tinytrace.codegen.c.formulas import own_float16
from tinytrace.codegen.c.known_quotients import known_quotient
from tinytrace.codegen.c.lowest_bits import lowest_bit
from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.statements import For
from tinytrace.core.formulas import Formula


def formula_in(loop: For | None, node: Node, is_own: bool) -> Formula:
    """Return the formula of an operation inside of `loop`; is_own: of float16 that the CPU computes with."""
    formula: Formula = node.args[0].formula
    if is_own:
        return own_float16(formula)
    return complex_product(loop, node) or known_quotient(loop, node) or lowest_bit(loop, node) or formula
