"""What the variables are called in C that hold an expression: after its value in the jaxpr, or after what it is."""
from __future__ import annotations

from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.statements import Buffer

_WORDS = {"cast": "converted", "index": "position", "where": "chosen", "apply": "value"}
"""For what holds no value of the jaxpr; none of these words is soon a letter, as `at` is."""


def variable_name(node: Node) -> str:
    """Return what a variable that holds an expression should be called, if nothing else has that name."""
    if node.hint:
        return node.hint
    if node.op == "load":
        buffer: Buffer = node.args[0]
        return f"{buffer.name}_i"
    return _WORDS.get(node.op, "index")
