"""Masks of bits that a vectorised loop tests in each iteration, one after the other: compilers may not know them.

    uint8_t c[8];                                              for (int64_t i1 = 0; ...)
    for (int64_t i1 = 0; i1 < 8; i1++)                             #pragma GCC unroll 8
        c[i1] = 1 << i1;                                           for (int64_t i2 = 0; i2 < 8; i2++)
    __asm__("" : "+m"(c));                                             g[8 * i1 + i2] = (a[i1] & c[i2]) != 0;

Of a test whose mask is known gcc makes another operation: of the highest bit it is a comparison with zero, of others a
shift. Neighbours that are computed otherwise are no vector of eight then, and are woven together from eight vectors:
bytes that become bits (`unpackbits`) take 0.13 of the time, integers of 32 and 64 bits 0.4 to 0.5, of 16 bits 0.3.
What is known of an element altogether, as the bits of the exponents in `x[:, None] ** arange(10)`, stays known.

And truth values that are made of others before a loop: gcc makes no vectors of a loop in which one of them chooses,
unless it is a comparison.

    const uint8_t z = x & y;                         const float z_flag = z ? 1.0f : 0.0f;
    for (...) b[i] = z ? c[i] : d[i];      is        for (...) b[i] = (z_flag != 0.0f) ? c[i] : d[i];

`where((k > 1) & (k < 3), x, y)` of one number k takes 0.1 of the time so, and so does a division of complex numbers by
one number, or each row by its own.
"""
from __future__ import annotations

import math

from tinytrace.codegen.c.code import Code
from tinytrace.codegen.c.types import variable_type
from tinytrace.codegen.c.variable_names import variable_name
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import For, Store, expressions, nested
from tinytrace.codegen.passes.short_axes import LONGEST
from tinytrace.core.dtypes import BOOL

FEWEST = 4
"""Masks of a loop. Of fewer stores weaving makes no difference."""


def hide_masks(code: Code, loop: For) -> None:
    """Put the masks of a loop that is about to be written into variables of which compilers know nothing."""
    if not loop.simd:
        return
    short = {stmt.axis for stmt in nested(loop.body) if isinstance(stmt, For) and int(stmt.axis.args[1]) <= LONGEST}
    stores = [stmt for stmt in nested(loop.body) if isinstance(stmt, Store)]
    masks = [node for node in dict.fromkeys(_masks([root for stmt in stores for root in expressions(stmt)]))
             if len(node.axes) < 2 and node.axes <= short]
    if sum(math.prod(int(axis.args[1]) for axis in node.axes) for node in masks) < FEWEST:
        return
    for node in masks:
        if code.name_of(node) is None:
            _hide(code, node)


def keep_outside(code: Code, node: Node, loop: For) -> None:
    """Make a variable before a loop of what does not vary with it."""
    code.keep(node)
    is_logic = node.op == "apply" and set(node.args[0].operands) == {BOOL} and node.dtype == BOOL
    if is_logic and any(isinstance(stmt, For) and stmt.simd for stmt in nested([loop])):
        name = code.name_of(node)
        flag = code.fresh(f"{name}_flag")
        code.line(f"const float {flag} = {name} ? 1.0f : 0.0f;")
        code.know(node, f"({flag} != 0.0f)")


def _masks(roots: list[Node]) -> list[Node]:
    """Return what is computed of places alone, and of whose bits those that an element shares with it are taken."""
    known: dict[Node, bool] = {}
    found: list[Node] = []
    for node in walk(roots):
        known[node] = node.op not in ("load", "local") and all(known[child] for child in node.children)
        is_shared = node.op == "apply" and node.args[0].name == "and" and not known[node]
        if is_shared and node.dtype not in (None, BOOL):
            found += [child for child in node.children if known[child] and child.op == "apply"]
    return [] if not found or all(known[root] for root in roots) else found


def _hide(code: Code, node: Node) -> None:
    name, kind = code.fresh(variable_name(node)), variable_type(node.dtype)
    if not node.axes:
        code.line(f"{kind} {name} = {code.text_of(node)};")
        code.line(f'__asm__("" : "+r"({name})); /* not known: masks.py */')
    else:
        (axis,) = node.axes
        i = axis.args[0]
        code.line(f"{kind} {name}[{axis.args[1]}];")
        with code.block(f"for (int64_t {i} = 0; {i} < {axis.args[1]}; {i}++)"):
            code.line(f"{name}[{i}] = {code.text_of(node)};")
        code.line(f'__asm__("" : "+m"({name})); /* not known: masks.py */')
        name = f"{name}[{i}]"
    code.know(node, name)
