"""What a random program knows of each of its values: its type, how large it can be, and how far it can be off.

Two ways of computing a program agree exactly on `+ - * /`, comparisons and everything on integers, and up to
rounding on the rest. So that agreement can be tested, every value carries a bound of its magnitude and of the error
it may have; what jumps at a point (`floor`, `<`, a conversion to int) is only ever done to values without error.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinytrace.records import dataclass

Shape = tuple[int, ...]
Dtype = np.dtype[Any]

FLOAT32, INT32, BOOL = (np.dtype(name) for name in ("float32", "int32", "bool"))
TAME = 4.0
"""Inputs of computations with rounding lie between -TAME and TAME."""
LARGE = 1e4
"""No value of a computation with rounding is larger than this."""


@dataclass(frozen=True)
class Value:
    """A variable of a random program.

    Args:
      name: its name in the program's text.
      shape, dtype: its type.
      bound: no element is larger in magnitude (NaN aside); inf when nothing is known.
      error: no element is further from what exact arithmetic on its operands gives; 0 for values that agree bit by bit.
    """

    name: str
    shape: Shape
    dtype: Dtype
    bound: float = math.inf
    error: float = 0.0

    @property
    def is_float(self) -> bool:
        """Whether its elements are floating-point numbers."""
        return self.dtype.kind == "f" or self.dtype.name == "bfloat16"

    @property
    def is_int(self) -> bool:
        """Whether its elements are integers (bool is not)."""
        return self.dtype.kind in "iu"

    @property
    def is_exact(self) -> bool:
        """Whether every way to compute it gives the same bits."""
        return self.error == 0.0

    @property
    def is_tame(self) -> bool:
        """Whether its error can be followed through further rounding."""
        return self.is_float and self.bound <= LARGE

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def epsilon(self) -> float:
        """A few units in the last place of 1."""
        return 8.0 * float(np.finfo(self.dtype).eps)


def agree(got: object, expected: object, value: Value) -> str:
    """Says where two computations of a value differ by more than its error; the empty string if they agree.

    >>> agree(np.float32(1), np.float32(1 + 1e-6), Value("x", (), FLOAT32, bound=4, error=1e-5))
    ''
    >>> agree(np.float32(-0.0), np.float32(0.0), Value("x", (), FLOAT32))
    'x: float32[], element (): -0.0 and 0.0 (no difference is allowed)'
    """
    ours, theirs = np.asarray(got), np.asarray(expected)
    title = f"{value.name}: {value.dtype.name}[{','.join(map(str, value.shape))}]"
    for array in (ours, theirs):
        if (array.shape, array.dtype) != (value.shape, value.dtype):
            return f"{title}, but computed as {array.dtype.name}{list(array.shape)}"
    if value.dtype.kind == "c":
        same = _same(ours.real, theirs.real, value.error) & _same(ours.imag, theirs.imag, value.error)
    else:
        same = _same(ours, theirs, value.error)
    wrong = np.argwhere(~same)
    if not len(wrong):
        return ""
    at = tuple(int(i) for i in wrong[0])
    allowed = "no difference is allowed" if value.is_exact else f"a difference of {value.error:.3g} is allowed"
    return f"{title}, element {at}: {ours[at]!s} and {theirs[at]!s} ({allowed})"


def _same(x: Any, y: Any, error: float) -> Any:
    """Where two arrays of real numbers are the same, up to an error."""
    same = _same_bits(x, y)
    if error:
        with np.errstate(invalid="ignore"):
            same |= np.abs(x.astype(np.float64) - y.astype(np.float64)) <= error
    return same


def _same_bits(x: Any, y: Any) -> Any:
    """Where two arrays are equal, NaN to any NaN and -0.0 not to 0.0."""
    if x.dtype.kind in "biu":
        return np.asarray(x == y)
    both_nan = np.isnan(x) & np.isnan(y)
    return np.asarray(both_nan | ((x == y) & (np.signbit(x) == np.signbit(y))))
