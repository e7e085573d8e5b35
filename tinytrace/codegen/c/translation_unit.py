"""The translation unit: the host's interface, the math that is used, parallel loops as functions, and the entry."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from tinytrace.codegen.c.captures import names_of
from tinytrace.codegen.c.code import Code
from tinytrace.codegen.c.few_elements import called_for_few
from tinytrace.codegen.c.lines import CALL, COMPUTE, COPY, CFunction, Line, named, names_in
from tinytrace.codegen.c.program import ProgramWriter
from tinytrace.codegen.c.short_rows import unrolled
from tinytrace.codegen.c.split_compile import paragraphs, split_compile
from tinytrace.codegen.c.types import memory_type
from tinytrace.codegen.c.vector_width import DEFINITION
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.codegen.memory import Memory
from tinytrace.csources import host_source, math_functions
from tinytrace.records import NamedTuple

_INDEX_FUNCTIONS = {
    "tt_floordiv": "static inline int64_t tt_floordiv(int64_t a, int64_t b) {\n"
                   "    int64_t q = a / b;\n    return q - (q * b != a && (a < 0) != (b < 0));\n}\n",
    "tt_mod": "static inline int64_t tt_mod(int64_t a, int64_t b) {\n"
              "    int64_t r = a % b;\n    return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n}\n",
}
"""Division of indices rounded down; most divisions need no such care, their dividends are never negative."""


MANY_CALLS = 16
AS_WRITTEN = ("#ifdef __clang__", "__attribute__((noinline, optnone))", "#else", '__attribute__((optimize("O0")))',
              "#endif")
"""Before an entry that is a long list of calls: to keep a hundred addresses in registers between them costs a compiler
as much as five loops, and saves nanoseconds."""

def emit(kernels: Sequence[Kernel], inputs: Sequence[Buffer], outputs: Sequence[Buffer],
         memory: Memory, fuses: bool = True, mark: Callable[[int], str] | None = None) -> TranslationUnit:
    """Return a program as C.

    Args:
      fuses: folds may round a product and a sum once.
      mark: gives a line of C to stand before kernel k and, for k = their number, at the end.
    """
    buffers = [*inputs, *outputs]
    body = Code(names_of(kernels) | {b.name for b in buffers})
    writer = ProgramWriter(body, fuses)
    for k, part in enumerate([[kernel] for kernel in kernels] if mark is not None else [kernels]):
        if mark is not None:
            body.line(mark(k))
        writer.write(part)
    if mark is not None:
        body.line(mark(len(kernels)))

    writer.finish()

    used = names_in(body.lines)
    code = Code()
    for k, buffer in enumerate(buffers):
        if buffer.name in used:
            const = "const " if buffer.space == "input" else ""
            code.line(f"{const}{memory_type(buffer.dtype)} *{buffer.name} = {named('buffers')}[{k}];")
    for buffer, offset in memory.offsets.items():
        if buffer.name in used:
            block = f"{named('buffers')}[{len(buffers)}]"
            place = f"(void *)((char *){block} + {offset})" if offset else block
            code.line(f"{memory_type(buffer.dtype)} *{buffer.name} = {place};")
    for name in ("buffers", "host"):
        if name not in used and name not in names_in(code.lines):
            code.line(f"(void){name};")
    inside, standing = body.finished(writer.functions)
    as_written = not writer.has_loops and _is_list_of_calls(inside)
    entry = CFunction("tt_entry", f"int32_t {named('tt_entry')}(void *const *buffers, const struct tt_host *host)",
                      [*code.lines, *inside, Line.of("    return TT_OK;")], standing, linkage="",
                      attributes=AS_WRITTEN if as_written else (), as_written=as_written)
    parts = split_compile(writer.functions, entry)
    lines = parts or paragraphs([function.all_lines for function in (*writer.functions, entry)])
    pragmas = unrolled(writer.distinct) + [DEFINITION] * any(function.attributes for function in writer.functions)
    calls = names_in(lines)
    helpers = [text for name, text in _INDEX_FUNCTIONS.items() if name in calls]
    math = math_functions(calls, called_for_few(kernels))
    preamble = "\n".join([*pragmas, host_source("host" in calls), math, *helpers, ""])
    return TranslationUnit(preamble, lines, parts is not None, frozenset(calls))


def _is_list_of_calls(lines: Sequence[Line]) -> bool:
    """Does an entry call many functions, and compute less itself?"""
    calls = sum(line.role == CALL or "->parallel_for(" in line for line in lines)
    return calls >= max(MANY_CALLS, sum(line.role in (COMPUTE, COPY) for line in lines))


class TranslationUnit(NamedTuple):
    """A program as C: what every program begins with and the functions that it calls, then its own lines."""

    preamble: str
    lines: Sequence[Line]
    parts: bool
    """Is it in two parts, which two compilers may take at the same time?"""
    names: frozenset[str]
    """What its own lines mention: arrays, functions, the host and its entries."""

    @property
    def text(self) -> str:
        """What the compiler gets."""
        return self.preamble + "\n".join([*self.lines, ""])
