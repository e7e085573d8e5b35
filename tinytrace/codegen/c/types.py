"""How C holds elements: the type in memory, the type in a variable, and the way between the two.

float16 and bfloat16 lie in memory as two bytes and are computed as `float`, rounded after each operation; bool is
`uint8_t` 0 or 1. Complex numbers are C's own, of which programs add, subtract, negate and compare whole ones alone:
all else is written on their parts (`primitives/on_complex.py`).
"""
from __future__ import annotations

from tinytrace.codegen.c.lines import named
from tinytrace.core.dtypes import FLOAT0, FLOAT16, DType, KeyType, is_half, short_name

_MEMORY = {"f16": "_Float16", "bf16": "uint16_t", "f32": "float", "f64": "double", "bool": "uint8_t",
           "c64": "float _Complex", "c128": "double _Complex"}
_HALF = named("_Float16")
_WIDEN, _NARROW = named("tt_bf16_to_f32"), named("tt_f32_to_bf16")


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
    return f"(float)({_HALF})({text})" if dtype == FLOAT16 else f"{_WIDEN}({_NARROW}({text}))"


def widened(text: str, dtype: DType) -> str:
    """Return the variable's value for the element `text` in memory."""
    if not is_half(dtype):
        return text
    return f"(float){text}" if dtype == FLOAT16 else f"{_WIDEN}({text})"


def narrowed(text: str, dtype: DType) -> str:
    """Return the element to store for a variable's value `text`."""
    if not is_half(dtype):
        return text
    return f"({_HALF}){text}" if dtype == FLOAT16 else f"{_NARROW}({text})"
