"""How exactly an accelerator should multiply: precisions, and algorithms that name the types of every step.

A CPU multiplies exactly whatever the precision: a precision is only printed. An algorithm says in which types operands
are read and sums are kept, and of those only a few are a CPU's, as in JAX.
"""
from __future__ import annotations

import enum
from typing import Any

import numpy as np

from tinytrace.config import config
from tinytrace.core.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from tinytrace.core.primitive import param_type
from tinytrace.records import NamedTuple


@param_type
class Precision(enum.Enum):
    """How exactly an accelerator should multiply; here every product is exact, and this is only printed.

    See https://jax.readthedocs.io/en/latest/jax.lax.html#jax.lax.Precision.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return PRECISION_NAMES.get(value)

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


PRECISION_NAMES: dict[object, Precision] = {
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST, "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH, "tensorfloat32": Precision.HIGH, "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT, "fastest": Precision.DEFAULT, None: Precision.DEFAULT,
}


class DotAlgorithm(NamedTuple):
    """An algorithm of products: types that operands are rounded to, the type of sums, and how often a product is split.

    It is recorded and printed; no CPU has one that is described in this way, so a program with it does not compile.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.DotAlgorithm.html.

    >>> DotAlgorithm("float16", "float16", "float32").num_primitive_operations
    1
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Algorithms by name: the types of both operands, then that of sums. A CPU has DEFAULT and those of one type.

    See https://jax.readthedocs.io/en/latest/jax.lax.html#jax.lax.DotAlgorithmPreset.

    >>> DotAlgorithmPreset["F16_F16_F32"].accumulation_type
    <class 'numpy.float32'>
    """

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def lhs_precision_type(self) -> Any:
        """The type that the left operand is converted to, or several that it may have; None: it stays as it is."""
        if self is DotAlgorithmPreset.DEFAULT or self.name.startswith("ANY"):
            return None
        if self in (DotAlgorithmPreset.BF16_BF16_BF16, DotAlgorithmPreset.BF16_BF16_F32):
            return BFLOAT16.type, np.float32
        return {"F16": np.float16, "F64": np.float64}.get(self.name[:3], np.float32)

    @property
    def rhs_precision_type(self) -> Any:
        """The same of the right operand."""
        return self.lhs_precision_type

    @property
    def accumulation_type(self) -> Any:
        """The type in which products are added up; None: that of the result."""
        if self is DotAlgorithmPreset.DEFAULT or self.name.startswith("ANY_F8_ANY_F8_ANY"):
            return None
        return {"F16": np.float16, "BF16": BFLOAT16.type, "F64": np.float64}.get(self.name.split("_")[2], np.float32)


def is_algorithm(precision: Any) -> bool:
    """Does a precision say in which types a product is computed?"""
    return isinstance(precision, (DotAlgorithm, DotAlgorithmPreset))


_OF_ONE_TYPE: dict[Any, np.dtype[Any]] = {
    DotAlgorithmPreset.F16_F16_F16: FLOAT16, DotAlgorithmPreset.F32_F32_F32: FLOAT32,
    DotAlgorithmPreset.F64_F64_F64: FLOAT64,
}
"""The algorithms that a CPU has, with their types."""


def dtype_of_algorithm(precision: Any) -> np.dtype[Any] | None:
    """Return the type in which a product is computed if its precision is an algorithm that says so.

    Raises: ValueError for algorithms that no CPU has.
    """
    if not is_algorithm(precision) or precision is DotAlgorithmPreset.DEFAULT:
        return None
    if isinstance(precision, DotAlgorithm) or precision not in _OF_ONE_TYPE:
        raise ValueError(f"The precision '{precision}' is not supported by dot_general on CPU")
    return _OF_ONE_TYPE[precision]


def canonicalize_precision(precision: Any) -> Any:
    """Return what an equation stores of a precision: None, a pair of Precisions, or an algorithm.

    >>> canonicalize_precision("high")
    (Precision.HIGH, Precision.HIGH)
    """
    if precision is None:
        precision = config.default_matmul_precision
    if precision is None or is_algorithm(precision):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    pair = tuple(precision) if isinstance(precision, (list, tuple)) else (precision, precision)
    if len(pair) == 2 and all(isinstance(p, Precision) for p in pair):
        return pair
    if len(pair) == 2 and all(isinstance(p, str) and p in PRECISION_NAMES for p in pair):
        return tuple(PRECISION_NAMES[p] for p in pair)
    raise ValueError(
        f"Precision argument must be one of:\n- None,\n- a string in {list(PRECISION_NAMES)},\n"
        "- a lax.Precision value,\n- a tuple of two lax.Precision values or strings,\n"
        "- a lax.DotAlgorithmPreset or the name of one of these presets, or\n- a lax.DotAlgorithm value;\n"
        f"but got {precision}.")
