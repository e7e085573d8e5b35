"""A program as C for programs without Python: a header, the program behind a function of arrays, and an example.

The lines of the program are those that the jitted call compiles, with another name for what other files can see. So the
same compiler with the same flags computes the same bits.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from tinytrace.codegen.c.comments import comment
from tinytrace.codegen.c.numbers import spelled
from tinytrace.codegen.c.types import interface_type, memory_type
from tinytrace.codegen.csource import CSource
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import BFLOAT16, BOOL, FLOAT0, FLOAT16, KeyType, is_float, is_half
from tinytrace.core.storage_types import STORAGE_TYPES
from tinytrace.records import NamedTuple, dataclass

ENTRY, HOST = "entry", "tt_standalone_host"
Operand = TypeVar("Operand")


class Parameter(NamedTuple):
    """An array that the C function takes or fills: its C name, type, and what the user calls it."""

    name: str
    aval: ShapedArray
    path: str

    @property
    def by_value(self) -> bool:
        """Is it a scalar? That of float16 is not: older versions of clang have no such values."""
        return not self.aval.shape and self.aval.dtype != FLOAT16

    @property
    def declaration(self) -> str:
        """As an input: scalars are passed by value.

        >>> Parameter("x", ShapedArray((3,), np.dtype("float32")), "x").declaration
        'const float *x'
        """
        form = "{} {}" if self.by_value else "const {} *{}"
        return form.format(interface_type(self.aval.dtype), self.name)

    @property
    def elements(self) -> str:
        """Where the elements are, for an input."""
        return f"&{self.name}" if self.by_value else self.name


@dataclass(frozen=True)
class Passed:
    """An input of the function: what an entry takes, or a result that is an input handed through."""

    number: int


@dataclass(frozen=True)
class Computed:
    """An output of the entry."""

    number: int


@dataclass(frozen=True, eq=False)
class Constant:
    """An array that the function closes over."""

    name: str
    aval: ShapedArray
    value: np.ndarray[Any, Any]


class Standalone(NamedTuple):
    """A compiled function without Python.

    Args:
      name: of the C function.
      inputs, outputs: its parameters, outputs last.
      source: the C of the kernels; None if nothing has to be computed.
      entry_inputs: what the C entry takes, in order.
      results: where each output comes from.
    """

    name: str
    inputs: Sequence[Parameter]
    outputs: Sequence[Parameter]
    source: CSource | None
    entry_inputs: Sequence[Passed | Constant]
    results: Sequence[Computed | Passed | Constant]

    @property
    def needs_host(self) -> bool:
        """Does the program use threads, matrix products or memory of its host?"""
        return self.source is not None and "host" in self.source.names

    @property
    def needs_blas(self) -> bool:
        """Are there products or factorizations of matrices?"""
        return self.source is not None and self.source.needs_blas

    @property
    def needs_lapack(self) -> bool:
        """Are there factorizations of matrices?"""
        return self.source is not None and self.source.needs_lapack

    def header(self, heading: str) -> str:
        """Return the .h file; `heading` is what its comment begins with."""
        guard = f"{self.name.upper()}_H"
        contract = f"{_CONTRACT}\n{_LAPACK}" if self.needs_lapack else _CONTRACT
        about = comment(f"{heading}\n\n{contract}\n\n" + "\n".join(self._table()))
        halves = [_OLD_CLANG] if any(p.aval.dtype == FLOAT16 for p in (*self.inputs, *self.outputs)) else []
        return "\n".join([*about, f"#ifndef {guard}", f"#define {guard}", "#include <stdint.h>", *halves, "",
                          "#ifdef __cplusplus", 'extern "C" {', "#endif", "", f"{self._head()};", "",
                          "#ifdef __cplusplus", "}", "#endif", "#endif", ""])

    def program(self, heading: str) -> str:
        """Return the .c file."""
        parts = ["\n".join(comment(heading)), _SILENCE, _WIDE,
                 f'#include "{self.name}.h"\n#include <stdlib.h>\n#include <string.h>\n']
        if self.source is not None:
            parts += [self._renaming(self.source.names), self.source.text]
        if self.needs_host:
            parts.append(f"extern const struct tt_host {HOST};\n")
        return "\n".join([*parts, *self._constants(), self._function()])

    def example(self) -> str:
        """Return a `main` that runs the program once."""
        sizes = ["{" + f"{p.aval.nbytes}, \"{p.name}\"" + "}" for p in (*self.inputs, *self.outputs)]
        fill = [line for i, p in enumerate(self.inputs) for line in _fill(i, p)]
        n = len(self.inputs)
        args = [f"*(const {interface_type(p.aval.dtype)} *)arrays[{i}]" if p.by_value else f"arrays[{i}]"
                for i, p in enumerate(self.inputs)]
        args += [f"arrays[{n + i}]" for i in range(len(self.outputs))]
        show = [line for i, p in enumerate(self.outputs) for line in _show(n + i, p)]
        return _EXAMPLE.format(name=self.name, n=n, count=len(sizes), sizes=", ".join(sizes) or "{0, 0}",
                               fill="\n".join(fill), args=", ".join(args) or "", show="\n".join(show))

    def _head(self) -> str:
        outputs = [f"{interface_type(p.aval.dtype)} *{p.name}" for p in self.outputs]
        return f"int {self.name}({', '.join([p.declaration for p in self.inputs] + outputs) or 'void'})"

    def _table(self) -> list[str]:
        rows = [("in ", p) for p in self.inputs] + [("out", p) for p in self.outputs]
        width = max([len(p.name) for _, p in rows], default=0)
        return [f"{way} {p.name:{width}}  {p.aval.str_short()}{'' if p.path in ('', p.name) else '  ' + p.path}"
                for way, p in rows]

    def _renaming(self, names: Iterable[str]) -> str:
        """Return the lines that give what other files can see names that begin with the function's."""
        seen = sorted(name for name in names if name.startswith(("tt_entry", "tt_kernel_")))
        return "".join(f"#define {name} {self.name}{name.removeprefix('tt')}\n" for name in seen)

    def _constants(self) -> list[str]:
        return [f"static const _Alignas(64) {memory_type(c.aval.dtype)} {c.name}[{max(c.aval.size, 1)}] = {{\n"
                f"{_numbers(c)}\n}};\n" for c in dict.fromkeys(self._operands(Constant))]

    def _operands(self, kind: type[Operand]) -> list[Operand]:
        return [x for x in (*self.entry_inputs, *self.results) if isinstance(x, kind)]

    def _function(self) -> str:
        used = {passed.number for passed in self._operands(Passed)}
        unused = [f"    (void){p.name};" for i, p in enumerate(self.inputs) if i not in used]
        copies = [line for out, result in zip(self.outputs, self.results, strict=True)
                  for line in self._copied(result, out)]
        lines = [f"{self._head()} {{", *unused, *self._call(), *copies]
        return "\n".join([*lines, f"    return {'0' if self.source is None else 'status'};", "}", ""])

    def _call(self) -> list[str]:
        """Return the lines that call the entry."""
        if self.source is None:
            return []
        words = [f"(void *){self._elements(x)}" for x in self.entry_inputs]
        words += [self._first(k).name for k in range(len(self.source.outputs))]
        call = f"int status = {self.name}_{ENTRY}(buffers, {f'&{HOST}' if self.needs_host else 'NULL'});"
        if not self.source.workspace:
            return [f"    void *const buffers[] = {{{', '.join(words)}}};", f"    {call}"]
        words.append("workspace + (-(uintptr_t)workspace & 63)")
        return [f"    char *workspace = malloc({self.source.workspace} + 128);",
                "    if (!workspace) return TT_NO_MEMORY;",
                f"    void *const buffers[] = {{{', '.join(words)}}};", f"    {call}", "    free(workspace);"]

    def _first(self, number: int) -> Parameter:
        """Return the output that the entry's output `number` goes to; others that are equal are copies of it."""
        return self.outputs[list(self.results).index(Computed(number))]

    def _elements(self, operand: Passed | Constant) -> str:
        return operand.name if isinstance(operand, Constant) else self.inputs[operand.number].elements

    def _copied(self, result: Computed | Passed | Constant, out: Parameter) -> list[str]:
        """Return the line that fills an output that the entry does not."""
        if not isinstance(result, Computed):
            return [f"    memcpy({out.name}, {self._elements(result)}, {out.aval.nbytes});"]
        first = self._first(result.number)
        return [f"    memcpy({out.name}, {first.name}, {out.aval.nbytes});"] if first.name != out.name else []


_CONTRACT = """\
Arrays lie in C order. Inputs and outputs must not overlap. Returns 0, or 1 if there is no memory for scratch space.
Any alignment is right; with arrays aligned to 64 bytes, which is fastest, and the flags of the Makefile, the results
are those of the jitted call to the bit."""

_LAPACK = """\
It factors matrices, which tt_host.c leaves to the LAPACK of OpenBLAS: it returns 3 where that library is not named."""

_OLD_CLANG = """\
#if defined(__clang__) && __clang_major__ < 15 && !defined(_Float16)
#define _Float16 __fp16 /* it stores and converts, and that is all that is done with it */
#endif"""

# What `runtime/flags.py` asks for on the command line of a jitted call.
_WIDE = """#if defined(__AVX512VL__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("prefer-vector-width=512") /* as the jitted call is compiled: sums are added in the same order */
#endif
"""
_SILENCE = """\
#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* of OpenMP and of gcc, where they are not asked for */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wunknown-warning-option" /* in versions that do not know these: */
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop without vectors is slower, not wrong */
#pragma clang diagnostic ignored "-Wbitwise-conditional-parentheses" /* `a | b ? x : y` is meant so */
#endif
"""


def _numbers(constant: Constant) -> str:
    """Return the elements of an array as C, exact to the bit, a few on a line."""
    dtype, flat = constant.aval.dtype, constant.value.reshape(-1)
    if is_half(dtype):
        words = [str(int(word)) for word in flat.view(np.uint16)]
    else:
        words = [spelled(value, dtype) for value in flat]
    words = words or ["0"]
    return ",\n".join("    " + ", ".join(words[i:i + 8]) for i in range(0, len(words), 8))


def _fill(i: int, p: Parameter) -> list[str]:
    """Return the lines of the example that make numbers for an input."""
    dtype, kind = p.aval.dtype, interface_type(p.aval.dtype)
    if isinstance(dtype, KeyType):
        value = "k + 1"
    elif dtype == BFLOAT16:
        value = "0x3f80 + k % 64"
    elif is_float(dtype) and dtype not in STORAGE_TYPES:
        value = f"({kind})(0.5 + (double)(k % 100) / 128)"
    else:
        value = f"({kind})(k % 2)" if dtype in (BOOL, FLOAT0) else f"({kind})(k % 10)"
    if not p.aval.size:
        return []
    return [f"    for (size_t k = 0; k < {p.aval.size}u; k++) (({kind} *)arrays[{i}])[k] = {value};"]


def _show(i: int, p: Parameter) -> list[str]:
    kind, shown = interface_type(p.aval.dtype), min(p.aval.size, 4)
    is_number = is_float(p.aval.dtype) and p.aval.dtype not in (BFLOAT16, *STORAGE_TYPES)
    form, cast = ("%.9g", "double") if is_number else ("%lld", "long long")
    more = f' of {p.aval.size}' if shown < p.aval.size else ""
    if not shown:
        return []
    return [f'    printf("{p.name} ({p.aval.str_short()}):");',
            f'    for (size_t k = 0; k < {shown}u; k++) printf(" {form}", ({cast})(({kind} *)arrays[{i}])[k]);',
            f'    puts("{f" ... ({shown}{more})" if more else ""}");']


_EXAMPLE = """\
/* Runs {name} once.

     example            on numbers that mean nothing; prints the first results
     example IN OUT     reads the inputs from the file IN, one after the other as they lie in memory, and writes the
                        outputs to the file OUT in the same way */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

static const struct {{
    size_t nbytes;
    const char *name;
}} parameters[] = {{{sizes}}};

static int stop(const char *what, const char *name) {{
    fprintf(stderr, "example: %s %s\\n", what, name);
    return 1;
}}

int main(int argc, char **argv) {{
    enum {{ INPUTS = {n}, COUNT = {count} }};
    void *arrays[COUNT + 1];
    if (argc != 1 && argc != 3) return stop("give no file, or two:", "IN OUT");
    for (int i = 0; i < COUNT; i++)
        if (!(arrays[i] = aligned_alloc(64, (parameters[i].nbytes + 127) / 64 * 64))) return stop("no memory", "");
{fill}
    if (argc == 3) {{
        FILE *in = fopen(argv[1], "rb");
        if (!in) return stop("cannot read", argv[1]);
        for (int i = 0; i < INPUTS; i++)
            if (fread(arrays[i], 1, parameters[i].nbytes, in) != parameters[i].nbytes)
                return stop("the file ends before", parameters[i].name);
        fclose(in);
    }}
    int status = {name}({args});
    if (status) return stop("failed:", "{name}");
    if (argc == 3) {{
        FILE *out = fopen(argv[2], "wb");
        if (!out) return stop("cannot write", argv[2]);
        for (int i = INPUTS; i < COUNT; i++)
            if (fwrite(arrays[i], 1, parameters[i].nbytes, out) != parameters[i].nbytes)
                return stop("cannot write", argv[2]);
        if (fclose(out)) return stop("cannot write", argv[2]);
        return 0;
    }}
{show}
    for (int i = 0; i < COUNT; i++) free(arrays[i]);
    return 0;
}}
"""
