"""The steps that random programs are made of, one function for each family of operations.

A step looks at the values at hand, draws operands and parameters that fit, and appends its line together with what is
known of the result: type, bound and error. Where nothing fits it answers None.
"""

from tinytrace.testing.random_programs import Step
from tinytrace.testing.steps import arrays, calls, control, elementwise, folds, matrices, reductions, special

CORE_STEPS: list[Step] = [
    elementwise.exact_unary, elementwise.rounding_unary, elementwise.not_, elementwise.arithmetic, elementwise.power,
    elementwise.division, elementwise.extremum, elementwise.bitwise, elementwise.comparison, elementwise.selection,
    elementwise.conversion,
    arrays.reshaping, arrays.slicing, arrays.joining, arrays.padding, arrays.counting, arrays.indexing, arrays.updating,
    arrays.sorting,
    reductions.summation, reductions.largest, reductions.truth, reductions.position, reductions.contraction,
    reductions.running,
    control.branching, control.counted_loop, control.while_loop, control.scanning,
]  # fmt: skip
"""What most programs consist of, in C without calls of anything else."""

OTHER_STEPS: list[Step] = [
    elementwise.with_number,
    special.smooth, special.smooth, special.rounding_to_less, special.next_number, special.bits, special.clamping,
    special.total_order,
    special.handing_on,
    folds.running_extremum, folds.folding, folds.window_folding, folds.window_patches, folds.window_derivative,
    folds.convolution, folds.largest_of_all, folds.scattering,
    matrices.factorization, matrices.pivots, matrices.random_numbers,
    calls.calling, calls.differentiating, calls.recomputing, calls.choosing_a_platform,
]  # fmt: skip

HOST_STEPS: list[Step] = [calls.calling_the_host]
"""What leaves the compiled program: what follows from it is not the program's alone."""

PURE_STEPS: list[Step] = [*CORE_STEPS, *OTHER_STEPS]
ALL_STEPS: list[Step] = [
    *PURE_STEPS, *HOST_STEPS, *[special.smooth] * 14, *[folds.scattering] * 4, folds.folding,
    *[folds.window_folding] * 2, folds.window_patches, *[elementwise.rounding_unary] * 2, *[elementwise.bitwise] * 4,
    *[elementwise.arithmetic] * 3, *[elementwise.division] * 3, *[reductions.running] * 2, special.rounding_to_less,
    special.total_order,
    *[calls.recomputing] * 2, *[special.handing_on] * 2, *[matrices.factorization] * 3, matrices.random_numbers,
    matrices.pivots, matrices.random_numbers, calls.differentiating, reductions.running_product,
    elementwise.product_and_sum, elementwise.product_and_sum, *[folds.window_scattering] * 2,
    *[matrices.complex_numbers] * 3, *[calls.over_a_named_axis] * 3, *[calls.on_one_device] * 2, calls.calling_by_rule,
]  # fmt: skip
"""All families, those of many operations more often: with these, every primitive of the registry is drawn."""

SMOOTH_STEPS: list[Step] = [
    special.differentiable, special.differentiable, elementwise.rounding_unary, *[elementwise.arithmetic] * 3,
    elementwise.power, arrays.reshaping, arrays.slicing, arrays.joining, arrays.padding, reductions.summation,
    reductions.contraction, reductions.running, folds.convolution,
]  # fmt: skip
"""What has derivatives wherever it is tried, of floats; of other values, no derivatives at all."""

MOVING_STEPS: list[Step] = [
    arrays.reshaping, *[arrays.slicing] * 3, arrays.joining, arrays.padding, arrays.indexing, arrays.updating,
    arrays.sorting, reductions.largest, reductions.largest, reductions.position, reductions.running,
]  # fmt: skip
"""What moves elements, or folds along axes."""

ALGEBRA_STEPS: list[Step] = [
    *[elementwise.with_number] * 4, elementwise.exact_unary, elementwise.arithmetic,
    elementwise.conversion, elementwise.selection, arrays.reshaping, arrays.reshaping, *[reductions.running] * 5,
]  # fmt: skip
"""What passes simplify."""

NUMBER_STEPS: list[Step] = [
    elementwise.with_number, elementwise.extremum, elementwise.comparison, elementwise.selection,
    elementwise.conversion, elementwise.arithmetic, elementwise.exact_unary,
]  # fmt: skip
"""What computes element by element, without error."""

KERNEL_STEPS: list[Step] = [
    *NUMBER_STEPS, *MOVING_STEPS, reductions.largest, reductions.summation, reductions.contraction,
    control.counted_loop, control.scanning,
]  # fmt: skip
"""What is lowered in different ways."""

STORING_STEPS: list[Step] = [
    reductions.running, arrays.sorting, reductions.contraction, elementwise.arithmetic, arrays.joining,
]  # fmt: skip
"""What is computed into temporary arrays."""
