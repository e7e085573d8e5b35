"""The ways to fold many elements into one: where to start, how to take one more, and what vectorises.

A maximum must be NaN when any element is. Written as one operation that is right from either side, but which compilers
do not turn into a vector reduction; so a loop that folds into one variable keeps two, the maximum of the numbers and
whether a NaN was seen (`NAN_BLIND`), and a fold into many places uses the one operation.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tinytrace.codegen.c.types import is_half, spelled
from tinytrace.core.dtypes import BOOL, FLOAT32, DType, is_float


class Fold(NamedTuple):
    """An associative operation on elements."""

    text: str
    """The C expression over {0}, what is folded so far, and {1}, the next element."""
    clause: str
    """The operator of `#pragma omp simd reduction`, or nothing."""


_FOLDS = {
    "sum": Fold("{0} + {1}", "+"),
    "sub": Fold("{0} - {1}", ""),
    "prod": Fold("{0} * {1}", "*"),
    "and": Fold("{0} & {1}", "&"),
    "or": Fold("{0} | {1}", "|"),
    "xor": Fold("{0} ^ {1}", "^"),
    "max": Fold("{1} > {0} ? {1} : {0}", "max"),
    "min": Fold("{1} < {0} ? {1} : {0}", "min"),
    "nan_max": Fold("({1} > {0} || {1} != {1}) ? {1} : {0}", ""),
    "nan_min": Fold("({1} < {0} || {1} != {1}) ? {1} : {0}", ""),
}
"""nan_max keeps a NaN it has: then neither comparison holds for a number, and the NaN stays."""


def fold_of(combine: str, dtype: DType) -> Fold:
    """Return the operation called `combine` on elements of type `dtype`."""
    if combine == "logsumexp":
        return Fold(f"tt_logaddexp_f{8 * accumulator_type(dtype).itemsize}({{0}}, {{1}})", "")
    return _FOLDS[combine]


def propagating(combine: str, dtype: DType) -> str:
    """Return the name of the operation that is right for NaN when it stands alone."""
    return f"nan_{combine}" if combine in ("max", "min") and is_float(dtype) else combine


def accumulator_type(dtype: DType) -> DType:
    """Return the type in which elements of type `dtype` are folded."""
    return FLOAT32 if is_half(dtype) else dtype


def identity(combine: str, dtype: DType) -> str:
    """Return the C spelling of the element that changes nothing."""
    return spelled(_identity_value(combine.removeprefix("nan_"), dtype), dtype)


def _identity_value(combine: str, dtype: DType) -> Any:
    if combine in ("sum", "or", "xor"):
        return 0
    if combine == "prod":
        return 1
    if combine == "logsumexp":
        return -np.inf
    if dtype == BOOL:
        return combine in ("and", "min")
    if is_float(dtype):
        return -np.inf if combine == "max" else np.inf
    assert isinstance(dtype, np.dtype)
    info = np.iinfo(dtype)
    if combine == "and":
        return -1 if dtype.kind == "i" else info.max
    return info.min if combine == "max" else info.max
