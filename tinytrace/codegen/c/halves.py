"""How two-byte floats are stored: rounded as carefully as they must be, or as bits when nothing computes with them."""
from __future__ import annotations

from tinytrace.codegen.c.code import Code
from tinytrace.codegen.c.formulas import spelled_operation
from tinytrace.codegen.c.lines import named
from tinytrace.codegen.c.types import is_exact, is_plain, narrowed
from tinytrace.codegen.ir.nodes import Node, value_of
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.core.dtypes import BOOL, is_half


def stored(code: Code, value: Node, text: str, array: Buffer) -> str:
    """Return what is stored for a value: not rounded twice, if it is rounded here and nowhere else."""
    if not is_half(array.dtype) or code.float16.computes(array.dtype):
        return text
    what = "exact" if _is_half_already(value) else "f32"
    if value.op == "apply" and code.name_of(value) is None:
        text = code.unrounded(value)
        what = what if is_exact(value) else "plain" if is_plain(value) else "f32"
    return text if array.wide else narrowed(text, array.dtype, what)


def _is_half_already(node: Node) -> bool:
    """Is it certain that the C variable of a value holds a two-byte float, with nothing to round?"""
    stack, seen = [node], {node}  # each once, however many ways lead to it
    while stack:
        inner = stack.pop()
        if inner.op == "apply" and is_exact(inner):
            behind = {child for child in inner.children if child.dtype != BOOL} - seen
            seen |= behind
            stack += behind
        elif inner.op not in ("load", "literal", "apply"):
            return False
    return True


def moved(code: Code, value: Node, array: Buffer) -> str | None:
    """Return the bits of a value that is made of bits: read and stored, perhaps with another sign; None of others."""
    is_new = value.op in ("load", "where", "apply") and code.name_of(value) is None
    if not is_half(array.dtype) or array.wide or not is_new or not _is_moved(code, value):
        return None
    rest = [value]
    while rest:
        inner = rest.pop()
        if inner.op == "apply" and code.name_of(inner) is None and inner.args[0].bits is None:
            rest += inner.children
        else:
            code.prepare(inner.certain, inner)
    return _bits(code, value)


def _is_moved(code: Code, node: Node) -> bool:
    if code.name_of(node) is not None or node.op in ("literal", "local"):
        return True
    if node.op == "where":
        return not code.is_large(node) and all(_is_moved(code, side) for side in node.args[1:])
    if node.op == "apply" and node.args[0].bits is not None:
        return code.uses[node] == 1
    if node.op == "apply":
        is_of_words = node.args[0].sign_bit or (node.args[0].word_function and code.uses[node] == 1)
        return bool(is_of_words) and all(_is_moved(code, child) for child in node.children)
    return node.op == "load" and not node.args[0].wide


def _bits(code: Code, node: Node) -> str:
    name = str(node.args[0]) if node.op == "local" else code.name_of(node)
    if name is not None:
        assert node.dtype is not None
        return narrowed(name, node.dtype, "exact" if _is_half_already(node) else "f32")
    match node.op:
        case "load":
            return f"{named(node.args[0].name)}[{code.value(node.args[1])}]"
        case "where":
            guard, *sides = node.args
            if_true, if_false = (f"({text})" if "?" in (text := _bits(code, side)) else text for side in sides)
            return f"{code.operand(guard)} ? {if_true} : {if_false}"
        case "apply" if bits := node.args[0].bits:
            return spelled_operation(bits, [code.operand_text(child) for child in node.children]).operand
        case "apply" if function := node.args[0].word_function:
            return f"{named(function)}({', '.join(_bits(code, child) for child in node.children)})"
        case "apply":
            inner, text = node.args[1], _bits(code, node.args[1])
            is_word = inner.op not in ("where", "apply") or code.name_of(inner) is not None
            return f"{text if is_word else f'({text})'} {node.args[0].sign_bit}"
    return f"0x{int.from_bytes(value_of(node).tobytes(), 'little'):04X}"
