"""What passes over loops weigh: what a turn saves, what it costs to keep a value, and what may run without any turn."""
from __future__ import annotations

import math

from tinytrace.control_flow.while_loop import while_p
from tinytrace.core.jaxpr import JaxprEqn, subjaxprs
from tinytrace.core.kinds import Contraction, HostCall, IndexMap, Reduction, Scalar, Scan1D, kind_of

LEAST = 32
"""Operations of a turn that are worth a kernel of their own before the loop."""
SIMPLE = frozenset((
    "add", "add_any", "and", "clamp", "convert_element_type", "copy", "eq", "ge", "gt", "imag", "le", "lt", "max",
    "min", "mul", "ne", "neg", "not", "or", "real", "select_n", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "sub", "xor"))
"""Primitives whose elements count for one operation each;"""
FUNCTION = 8
"""... and for how many those of functions and quotients count."""
MOST = 1 << 24
"""Elements that are made before the loop of fewer ones: 64 MB of float32 that nobody asked for."""
WRITE, READ = 4, 2
"""Operations that to write an element once counts for; to read one in a turn, where not as many were read anyway."""


def work_of(eqn: JaxprEqn) -> int:
    """Return how many operations an equation counts for; none where elements are only moved."""
    results = sum(v.aval.size for v in eqn.outvars)
    if eqn.primitive.name in SIMPLE:
        return results
    operands = sum(x.aval.size for x in eqn.invars)
    kind = kind_of(eqn)
    if isinstance(kind, IndexMap):
        return 0
    if isinstance(kind, Reduction | Scan1D):
        return operands
    if isinstance(kind, Contraction):
        return 2 * results * math.prod(eqn.invars[0].aval.shape[axis] for axis in kind.lhs_contract)
    return FUNCTION * results if isinstance(kind, Scalar) else FUNCTION * (operands + results)


def may_run_before(eqn: JaxprEqn) -> bool:
    """May it run where the loop has no turn? A loop in it might have no end then; and hosts count their calls."""
    if eqn.primitive is while_p or (eqn.primitive.name not in SIMPLE and isinstance(kind_of(eqn), HostCall)):
        return False
    return all(map(may_run_before, (inner for body in subjaxprs(eqn.params) for inner in body.eqns)))
