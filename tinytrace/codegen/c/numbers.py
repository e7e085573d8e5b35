"""How C spells a number, exact to the bit."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinytrace.core.dtypes import BOOL, DType, KeyType, is_float, part_dtype
from tinytrace.core.storage_types import STORAGE_TYPES


def spelled(value: Any, dtype: DType) -> str:
    """Return the C spelling of one number of type `dtype`, exact to the bit.

    >>> spelled(1.5, np.dtype("float32")), spelled(float("-inf"), np.dtype("float64")), spelled(-7, np.dtype("int64"))
    ('1.5f', '-__builtin_inf()', '-7ll')
    """
    if isinstance(dtype, KeyType):
        halves = np.asarray([value], dtype.storage).view(np.uint64)
        return " | ".join(f"(unsigned __int128){half}ull << {64 * k}" if k else f"{half}ull"
                          for k, half in enumerate(halves))
    if dtype.kind == "c":
        real, imag = (spelled(part, part_dtype(dtype)) for part in (np.real(value), np.imag(value)))
        return f"__builtin_complex({real}, {imag})"
    if dtype in STORAGE_TYPES:
        return str(np.asarray(value, dtype).view(np.uint8))
    if is_float(dtype):
        return _float(np.asarray(value, dtype), dtype)
    if dtype == BOOL:
        return str(int(bool(value)))
    number = int(value)
    suffix = ("u" if dtype.kind == "u" else "") + ("ll" if dtype.itemsize == 8 else "")
    if dtype.kind == "i" and number == -(2 ** (8 * dtype.itemsize - 1)):
        return f"({number + 1}{suffix} - 1)"
    return f"{number}{suffix}"


def is_negative(value: Any) -> bool:
    """Has the C spelling of a number a sign in front?"""
    dtype = np.asarray(value).dtype
    if dtype in STORAGE_TYPES:
        return False
    return bool(np.signbit(value)) if is_float(dtype) else dtype.kind not in "cV" and bool(value < 0)


def _float(value: np.ndarray[Any, Any], dtype: DType) -> str:
    wide = float(value)
    suffix = builtin = "" if dtype.itemsize == 8 else "f"
    if math.isnan(wide):
        return f'{"-" if math.copysign(1, wide) < 0 else ""}__builtin_nan{builtin}("")'
    if math.isinf(wide):
        return f'{"-" if wide < 0 else ""}__builtin_inf{builtin}()'
    if dtype.itemsize == 8:
        return repr(wide)
    plain = wide == 0 or 1e-4 <= abs(wide) < 1e16
    shortest = np.format_float_positional if plain else np.format_float_scientific
    return shortest(np.float32(wide), unique=True, trim="0") + suffix
