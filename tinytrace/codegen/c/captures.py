"""What kernels are called in C by, and what functions that threads run take from their caller through pointers."""
from __future__ import annotations

from collections.abc import Collection, Sequence

from tinytrace.codegen.c.lines import named
from tinytrace.codegen.c.types import array_type, variable_type
from tinytrace.codegen.ir.kernel import Kernel, Nest, Repeat, inner_programs
from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.programs import mentions, name_of
from tinytrace.codegen.ir.statements import Buffer, Declare, Row


def names_of(kernels: Sequence[Kernel]) -> set[str]:
    """Return the C names of the arrays and variables of kernels."""
    used: list[Buffer | Node] = list(mentions(kernel for kernel in kernels if not isinstance(kernel, Nest)))
    for kernel in kernels:
        if isinstance(kernel, Nest):
            used += [*kernel.reads, *kernel.writes, *kernel.contents.variables]
    return _made(kernels).union(map(name_of, used))


def captured_by(kernels: Sequence[Kernel]) -> tuple[list[Buffer], list[Node]]:
    """Return the arrays and variables of the program around them that kernels use (of statements: `captured`)."""
    made = _made(kernels)
    used = {name_of(x): x for x in mentions(kernels) if name_of(x) not in made}
    return [x for x in used.values() if isinstance(x, Buffer)], [x for x in used.values() if isinstance(x, Node)]


def parameters(buffers: Sequence[Buffer], variables: Sequence[Node], written_to: Collection[str],
               are_apart: bool) -> str:
    """Return the parameters of a function that is called with arrays and variables.

    written_to: the names of the arrays that it may change.  are_apart: is no array in a place where another one is?
    """
    star = "*restrict " if are_apart else "*"
    arrays = [f"{'' if b.name in written_to else 'const '}{array_type(b)} {star}{b.name}" for b in buffers]
    return ", ".join([*arrays, *(f"{variable_type(x.dtype)} {x.args[0]}" for x in variables)])


def packed(buffers: Sequence[Buffer], variables: Sequence[Node]) -> list[str]:
    """Return the pointers by which a function finds arrays and variables of its caller."""
    return [f"(void *){named(b.name)}" for b in buffers] + [f"(void *)&{x.args[0]}" for x in variables]


def unpacked(buffers: Sequence[Buffer], variables: Sequence[Node], written_to: Collection[str]) -> list[str]:
    """Return the lines with which such a function begins; written_to: the names of the arrays that it may change."""
    lines = ["void *const *work = ctx;"]
    for k, buffer in enumerate(buffers):
        const = "" if buffer.name in written_to else "const "
        lines.append(f"{const}{array_type(buffer)} *restrict {buffer.name} = work[{k}];")
    for k, x in enumerate(variables, len(buffers)):
        kind = variable_type(x.dtype)
        lines.append(f"const {kind} {x.args[0]} = *(const {kind} *)work[{k}];")
    return lines


def _made(kernels: Sequence[Kernel]) -> set[str]:
    """Return the names of the arrays and variables that exist in kernels alone."""
    found: set[str] = set()
    for kernel in kernels:
        if isinstance(kernel, Nest):
            made = [stmt.local if isinstance(stmt, Declare) else stmt.buffer
                    for stmt in kernel.form.statements if isinstance(stmt, (Declare, Row))]
            found.update(kernel.renamed(name_of(x)) for x in made)
        if isinstance(kernel, Repeat):
            arrays = [*kernel.private, *(view.buffer for view in kernel.views)]
            arrays += [b for pair in kernel.exchanges for b in (pair.before, pair.after)]
            found.update(buffer.name for buffer in arrays)
            found.update([name_of(kernel.iteration)] if kernel.iteration is not None else [])
        for program in inner_programs(kernel):
            found |= _made(program)
    return found
