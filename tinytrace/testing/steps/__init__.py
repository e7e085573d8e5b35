"""The steps that random programs are made of, one function for each family of operations.

A step looks at the values at hand, draws operands and parameters that fit, and appends its line together with what is
known of the result: type, bound and error. Where nothing fits it answers None.
"""

from tinytrace.testing.programs import Step
from tinytrace.testing.steps import arrays, control, elementwise, reductions

ALL_STEPS: list[Step] = [
    elementwise.exact_unary, elementwise.rounding_unary, elementwise.not_, elementwise.arithmetic, elementwise.power,
    elementwise.division, elementwise.extremum, elementwise.bitwise, elementwise.comparison, elementwise.selection,
    elementwise.conversion,
    arrays.reshaping, arrays.slicing, arrays.joining, arrays.padding, arrays.counting, arrays.indexing, arrays.updating,
    arrays.sorting,
    reductions.summation, reductions.largest, reductions.truth, reductions.position, reductions.contraction,
    reductions.running,
    control.branching, control.counted_loop, control.while_loop, control.scanning,
]  # fmt: skip
