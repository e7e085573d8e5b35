"""How C holds elements: the type in memory, the type in a variable, and the way between the two.

float16 and bfloat16 lie in memory as two bytes and are computed as `float`, rounded after each operation (in vectors:
csrc/math/halves.h); bool is `uint8_t` 0 or 1. Complex numbers are C's own, of which programs add, subtract, negate and
compare whole ones alone: all else is written on their parts (`primitives/on_complex.py`). Types that are only kept
(`core/storage_types.py`) are bytes here: they are moved, and converted.
"""
from __future__ import annotations

from tinytrace.codegen.c.lines import named
from tinytrace.codegen.ir.exact import is_power_of_two_times
from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.core.dtypes import BFLOAT16, FLOAT0, FLOAT16, DType, KeyType, is_half, short_name
from tinytrace.core.storage_types import STORAGE_TYPES

_MEMORY = {"f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "f64": "double", "bool": "uint8_t",
           "c64": "float _Complex", "c128": "double _Complex",
           **{short_name(dtype): "uint8_t" for dtype in STORAGE_TYPES}}

LINE, LONG = 64, 4096
"""Bytes of a line of the cache, and of an array on the stack that begins with one."""


def memory_type(dtype: DType) -> str:
    """Return the C type of elements in a buffer.

    >>> memory_type(np.dtype("bool")), memory_type(np.dtype("int32")), memory_type(np.dtype("float16"))
    ('uint8_t', 'int32_t', 'uint16_t')
    """
    if isinstance(dtype, KeyType):
        return "uint64_t" if dtype.words == 2 else "unsigned __int128"
    if dtype == FLOAT0:
        return "uint8_t"
    name = short_name(dtype)
    return _MEMORY.get(name) or f"{'u' if name[0] == 'u' else ''}int{name[1:]}_t"


def array_type(buffer: Buffer) -> str:
    """Return the C type of the elements of an array."""
    return variable_type(buffer.dtype) if buffer.wide else memory_type(buffer.dtype)


def row_declaration(buffer: Buffer) -> str:
    """Return the C statement that declares an array on the stack; compilers align short ones as their loops need it.

    >>> row_declaration(Buffer("panel", (576, 64), np.dtype("float32"), "row"))  # a BLAS loads its vectors
    '_Alignas(64) float panel[36864];'
    """
    aligned = f"_Alignas({LINE}) " if buffer.nbytes >= LONG else ""
    return f"{aligned}{array_type(buffer)} {buffer.name}[{max(buffer.size, 1)}];"


def interface_type(dtype: DType) -> str:
    """Return the C type of elements as the user of an exported program sees it.

    >>> interface_type(np.dtype("float16")), interface_type(np.dtype("int32"))
    ('_Float16', 'int32_t')
    """
    return "_Float16" if dtype == FLOAT16 else memory_type(dtype)


def variable_type(dtype: DType | None) -> str:
    """Return the C type of a variable that holds an element (None: an index)."""
    if dtype is None:
        return "int64_t"
    return "float" if is_half(dtype) else memory_type(dtype)


def is_exact(node: Node) -> bool:
    """Is what C computes of two-byte floats one already, as the greater of two is, and a bfloat16 times two?

    Twice is one more in the exponent, of which bfloat16 has as many as the floats that C computes with.
    """
    return bool(node.args[0].ulp == 0) or (node.dtype == BFLOAT16 and is_power_of_two_times(node))


def is_plain(node: Node) -> bool:
    """Is an element what one or more of C's own operations make of bfloat16? (csrc/math/halves.h says why to ask.)"""
    return node.dtype == BFLOAT16 and all(dtype == BFLOAT16 for dtype in node.args[0].operands) \
        and node.args[0].is_arithmetic


def is_no_sum(node: Node) -> bool:
    """Is an element certain not to be a sum, which the compiler would negate term by term?"""
    return node.op in ("load", "literal") or (node.op == "apply" and node.args[0].name in ("mul", "div"))


def rounded(text: str, dtype: DType, plain: bool = False) -> str:
    """Return the C expression that rounds the float `text` to a two-byte float and widens it again.

    plain: it is what one operation of C makes of such floats.
    """
    name = "tt_round_plain_bf16" if plain and dtype == BFLOAT16 else f"tt_round_{short_name(dtype)}"
    return f"{named(name)}({text})"


def widened(text: str, dtype: DType) -> str:
    """Return the variable's value for the element `text` in memory."""
    return f"{named(f'tt_{short_name(dtype)}_to_f32')}({text})" if is_half(dtype) else text


def narrowed(text: str, dtype: DType, what: str = "f32") -> str:
    """Return the element to store for a variable's value `text`.

    what: `plain`: one operation of C makes it of elements of the same type; `exact`: it is one already.
    """
    if not is_half(dtype):
        return text
    name = f"tt_{what if dtype == BFLOAT16 else 'f32'}_to_{short_name(dtype)}"
    return f"{named(name)}({text})"
