"""The translation unit: the host's interface, the math that is used, parallel loops as functions, and the entry."""
from __future__ import annotations

import re
from collections.abc import Sequence

from tinytrace.codegen.c_code import Code
from tinytrace.codegen.c_nest import NestWriter
from tinytrace.codegen.c_types import memory_type
from tinytrace.codegen.kernel import Buffer, Declare, Kernel, Nest, Row, nested
from tinytrace.csources import host_source, math_functions


def emit(kernels: Sequence[Kernel], inputs: Sequence[Buffer], outputs: Sequence[Buffer], workspace: int) -> str:
    """Return the C text of a program."""
    buffers = [*inputs, *outputs]
    functions: list[str] = []
    code = Code()
    body = Code(taken=[b.name for b in buffers] + [name for kernel in kernels for name in names_in(kernel)])
    writer = NestWriter(body, functions)
    for k, kernel in enumerate(kernels):
        assert isinstance(kernel, Nest)
        body.line("")
        for text in comment(str(kernel)):
            body.line(text)
        writer.write(kernel, f"tt_kernel_{k}")
    used = set(re.findall(r"\b\w+\b", "\n".join(body.lines)))
    for k, buffer in enumerate(buffers):
        if buffer.name in used:
            const = "const " if buffer.space == "input" else ""
            code.line(f"{const}{memory_type(buffer.dtype)} *{buffer.name} = buffers[{k}];")
    if "host" not in used:
        code.line("(void)host;")
    if not code.lines or not used & {b.name for b in buffers}:
        code.line("(void)buffers;")
    entry = "\n".join(["int32_t tt_entry(void *const *buffers, const struct tt_host *host) {", *code.lines, *body.lines,
                       "    return TT_OK;", "}"])
    program = "\n\n".join([*functions, entry])
    return "\n".join([host_source(), math_functions(program), program, ""])


def names_in(kernel: Kernel) -> list[str]:
    """Return the C names that a kernel's arrays and variables have."""
    found = [buffer.name for buffer in (*kernel.reads, *kernel.writes)]
    for stmt in nested(kernel.body) if isinstance(kernel, Nest) else ():
        if isinstance(stmt, Row):
            found.append(stmt.buffer.name)
        elif isinstance(stmt, Declare):
            found.append(str(stmt.local.args[0]))
    return found


def comment(text: str) -> list[str]:
    """Return the lines of a C comment that `text` cannot end."""
    first, *rest = text.replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/").replace("\\", "/").splitlines()
    return [f"/* {first}", *(f" * {line}" for line in rest), " */"] if rest else [f"/* {first} */"]
