"""What operations on two-byte floats are: one that such a CPU has, one for strips in registers, one that reads bits."""
from __future__ import annotations

import numpy as np

from tinytrace.codegen.ir.nodes import Node
from tinytrace.core.dtypes import BFLOAT16, BOOL, FLOAT16, DType
from tinytrace.core.operations import Operation

OF_FLOAT16 = {"tt_max_f32": "tt_max_f16", "tt_min_f32": "tt_min_f16", "tt_abs_f32": "tt_abs_f16"}
"""For functions of floats those of float16 that csrc/math/halves.h has there."""


def is_arithmetic(operation: Operation, dtype: DType) -> bool:
    """Would strips that stay in registers have an operation for this one?"""
    is_chosen = bool(operation.calls) and set(operation.calls) <= {"tt_max_f32", "tt_min_f32"} and operation.ulp == 0
    is_sign = dtype == BFLOAT16 and bool(operation.sign_bit)
    return set(operation.operands) == {dtype} and (operation.is_one_step or is_chosen or is_sign)


def is_own(operation: Operation) -> bool:
    """Would a CPU that computes with float16 have an operation for this one: exact, or rounded once?"""
    is_exact = operation.ulp == 0 and set(operation.calls) <= set(OF_FLOAT16)
    return {*operation.operands, operation.result} <= {FLOAT16, BOOL} and not operation.is_conversion \
        and (operation.is_one_step or is_exact)


def is_counted(node: Node) -> bool:
    """Is this a truth value, or one as an integer?"""
    assert node.dtype is not None
    is_number = node.op == "apply" and node.args[0].operands == (BOOL,) and np.issubdtype(node.dtype, np.integer)
    return node.dtype == BOOL or is_number


def are_bits_in_memory(node: Node) -> bool:
    """Are these the bits of a two-byte float that lies in memory? There they are read as they are."""
    return bool(node.op == "apply" and node.args[0].reads_bits and node.args[1].op == "load"
                and not node.args[1].args[0].wide)
