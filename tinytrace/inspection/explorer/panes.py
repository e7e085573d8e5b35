"""The six texts of a program, and which part of each belongs to which equations.

Equations are the numbers of `lowered.source_map`: those of the program as it was traced, in the order of its text.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinytrace.api.stages import Lowered
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.printer import to_lines
from tinytrace.codegen.source_map import SourceMap
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.printer import text_with_places
from tinytrace.inspection.linked_texts.marked_text import Pane, Part, in_lines, lines_as_parts
from tinytrace.inspection.linked_texts.program_pane import counted, known, program_pane
from tinytrace.runtime.disassembly import Instruction, NoDisassembly, disassemble


def jaxpr_pane(key: str, title: str, closed: ClosedJaxpr, numbers: Mapping[int, int]) -> Pane:
    """Return the text of a program, letter for letter; numbers: those of equations, by their ids."""
    return program_pane(key, title, *text_with_places(closed), numbers)


def kernels_pane(kernels: Sequence[Kernel], numbers: Mapping[int, int], times: Sequence[str] = ()) -> Pane:
    """Return the kernels, each with what it costs, the time that it took if that was measured, and its statements."""
    lines: list[str] = []
    equations: list[tuple[int, ...]] = []
    for k, kernel in enumerate(kernels):
        took = f", {times[k]}" if times else ""
        lines.append(f"kernel {k}, {kernel.headed().splitlines()[0]}{took}")
        equations.append(known(kernel.eqns, numbers))
        for line in to_lines([kernel]):
            lines.append(line.text)
            equations.append(known(line.eqns, numbers))
    text = "\n".join(lines)
    return Pane("kernels", "Kernels", text, lines_as_parts(lines, equations), counted(text))


def c_pane(lowered: Lowered, source: SourceMap) -> Pane:
    """Return the program's own lines of C; their numbers are those of the full text, as in `lowered.source_map`."""
    text = lowered.as_text().rstrip("\n")
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    parts = [Part(starts[place.line - source.first_line] + place.begin,
                  starts[place.line - source.first_line] + place.end, place.equations) for place in source.places]
    numbers = tuple(range(source.first_line, source.first_line + text.count("\n") + 1))
    return Pane("c", "C", text, in_lines(text, parts), numbers)


def assembly_pane(lowered: Lowered, source: SourceMap) -> Pane:
    """Return the machine code, or why there is none."""
    try:
        found = disassemble(lowered.source)
    except NoDisassembly as reason:
        return Pane("assembly", "Assembly", f"No assembly: {reason}")
    own = {instruction.function for instruction in found if line_in_program(instruction, source)}
    instructions = sorted(found, key=lambda instruction: instruction.function not in own)  # then functions of csrc/math
    lines: list[str] = []
    equations: list[tuple[int, ...]] = []
    addresses: list[int | None] = []
    of_line = {place.line: place.equations for place in reversed(source.places)}  # the whole line comes first
    function = ""
    for instruction in instructions:
        if instruction.function != function:
            function = instruction.function
            lines.append(f"{function}:")
            equations.append(())
            addresses.append(None)
        lines.append(f"    {instruction.text.expandtabs(8)}")
        equations.append(of_line.get(line_in_program(instruction, source), ()))
        addresses.append(instruction.address)
    return Pane("assembly", "Assembly", "\n".join(lines), lines_as_parts(lines, equations), tuple(addresses))


def line_in_program(instruction: Instruction, source: SourceMap) -> int:
    """Return the line of the program's own C that an instruction is from; 0 if none is known."""
    return next((line for line in instruction.lines if line >= source.first_line), 0)
