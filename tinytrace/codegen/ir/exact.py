"""Which elements are exact whatever their operands are: such need not be rounded to a narrow type."""
from __future__ import annotations

import math

from tinytrace.codegen.ir.nodes import Node, value_of


def is_power_of_two_times(node: Node) -> bool:
    """Is an element a product by 1, 2, 4, ... or -1, -2, ...: exact, unless it is too large for its type?"""
    operation = node.args[0] if node.op == "apply" else None
    if operation is None or operation.factors is None or set(operation.operands) != {node.dtype}:
        return False
    factors = [node.children[k] for k in operation.factors]
    return any(x.op == "literal" and _is_power_of_two(abs(float(value_of(x)))) for x in factors)


def _is_power_of_two(x: float) -> bool:
    return 1 <= x < math.inf and math.frexp(x)[0] == 0.5
