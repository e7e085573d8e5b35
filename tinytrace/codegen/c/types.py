"""How C holds elements: the type in memory, the type in a variable, and how a number is spelled.

float16 and bfloat16 lie in memory as two bytes and are computed as `float`, rounded after each operation; bool is
`uint8_t` 0 or 1.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinytrace.core.dtypes import BOOL, FLOAT0, FLOAT16, DType, KeyType, is_float, is_half, short_name

_MEMORY = {"f16": "_Float16", "bf16": "uint16_t", "f32": "float", "f64": "double", "bool": "uint8_t"}


def memory_type(dtype: DType) -> str:
    """Return the C type of elements in a buffer.

    >>> memory_type(np.dtype("bool")), memory_type(np.dtype("int32")), memory_type(np.dtype("float16"))
    ('uint8_t', 'int32_t', '_Float16')
    """
    if isinstance(dtype, KeyType):
        return "uint64_t"
    if dtype == FLOAT0:
        return "uint8_t"
    name = short_name(dtype)
    return _MEMORY.get(name) or f"{'u' if name[0] == 'u' else ''}int{name[1:]}_t"


def variable_type(dtype: DType | None) -> str:
    """Return the C type of a variable that holds an element (None: an index)."""
    if dtype is None:
        return "int64_t"
    return "float" if is_half(dtype) else memory_type(dtype)


def rounded(text: str, dtype: DType) -> str:
    """Return the C expression that rounds the float `text` to a two-byte float and widens it again."""
    return f"(float)(_Float16)({text})" if dtype == FLOAT16 else f"tt_bf16_to_f32(tt_f32_to_bf16({text}))"


def widened(text: str, dtype: DType) -> str:
    """Return the variable's value for the element `text` in memory."""
    if not is_half(dtype):
        return text
    return f"(float){text}" if dtype == FLOAT16 else f"tt_bf16_to_f32({text})"


def narrowed(text: str, dtype: DType) -> str:
    """Return the element to store for a variable's value `text`."""
    if not is_half(dtype):
        return text
    return f"(_Float16){text}" if dtype == FLOAT16 else f"tt_f32_to_bf16({text})"


def spelled(value: Any, dtype: DType) -> str:
    """Return the C spelling of one number of type `dtype`, exact to the bit.

    >>> spelled(1.5, np.dtype("float32")), spelled(float("-inf"), np.dtype("float64")), spelled(-7, np.dtype("int64"))
    ('1.5f', '-__builtin_inf()', '-7ll')
    """
    if isinstance(dtype, KeyType):
        return f"{int(np.asarray(value).view(np.uint64))}ull"
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
    return bool(np.signbit(value)) if is_float(np.asarray(value).dtype) else bool(value < 0)


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
