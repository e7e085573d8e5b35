"""Programs as C: kernels one after the other, loops and branches around them."""
from __future__ import annotations

from collections.abc import Sequence

from tinytrace.codegen.c.captures import captured_by, packed, unpacked
from tinytrace.codegen.c.code import Code
from tinytrace.codegen.c.equal_kernels import Pattern, distinct, repeated
from tinytrace.codegen.c.lines import COPY, HOST, SCAFFOLD, CFunction, named
from tinytrace.codegen.c.nest import NestWriter, is_spread
from tinytrace.codegen.c.types import memory_type, row_declaration
from tinytrace.codegen.ir.kernel import Choose, Kernel, Nest, Repeat
from tinytrace.codegen.ir.statements import Buffer, Call, For


class ProgramWriter:
    """Writes kernels into `code`, and the functions that threads run into `functions`."""

    def __init__(self, code: Code, fuses: bool, functions: list[CFunction] | None = None) -> None:
        self.code = code
        self.functions: list[CFunction] = [] if functions is None else functions
        self._fuses = fuses
        self._nests = NestWriter(code, self.functions, fuses)
        self.has_loops = False
        """Does the entry itself compute in loops?"""
        self._shared: dict[Nest, Pattern] = {}
        """The kernels that are calls of functions."""
        self.distinct: list[Kernel] = []
        """The kernels that are written: not those that call the function of an equal one."""

    def write(self, kernels: Sequence[Kernel], top: bool = True) -> None:
        """Write kernels in order, each with a comment that says what it is, where its loops are."""
        if top:
            self._shared = repeated(kernels)
            self.distinct += distinct(kernels, self._shared)
        for kernel in kernels:
            heading = kernel.summary() if top else ""
            if kernel.equations and top:
                self.code.line("")
            if isinstance(kernel, Nest) and is_spread(kernel):
                self._nests.write(kernel, heading)
                self.code.forget_loads(kernel.accesses[1])
                continue
            if isinstance(kernel, Repeat) and kernel.grain:
                self._spread(kernel, heading)
                self.code.forget_loads()
                continue
            if kernel.equations:
                self.code.comment(heading, kernel.equations)
            match kernel:
                case Nest() if kernel in self._shared:
                    self._nests.call_shared(kernel, self._shared[kernel])
                case Nest():
                    self._nests.write(kernel)
                    self.has_loops |= any(isinstance(stmt, For) or not (top or isinstance(stmt, Call))
                                          for stmt in kernel.body)
                case Repeat():
                    self.code.forget_loads()  # an iteration may read what the one before has written
                    self._repeat(kernel)
                case Choose():
                    self._choose(kernel)
            self.code.forget_loads(kernel.accesses[1] if isinstance(kernel, Nest) else None)

    def finish(self) -> None:
        """Complete what can only be said when all kernels are written."""
        self._nests.finish()

    def _repeat(self, loop: Repeat) -> None:
        code = self.code
        code.eqns = loop.eqns
        used = {buffer.name for part in (*loop.condition, *loop.body) for buffer in (*part.reads, *part.writes)}
        # No kernel reads or writes arrays of no elements: they stay where they are, which may be a view of no name.
        moving = [pair for pair in loop.exchanges if pair.before.name != pair.after.name
                  and (pair.before.nbytes or used & {pair.before.name, pair.after.name})]
        for pair in loop.exchanges:
            if pair not in moving and pair.before.name not in used:
                continue
            code.line(f"{_pointer(pair.before)} = {named(pair.first.name)};")
            if pair in moving:
                code.line(f"{_pointer(pair.after)} = {named(pair.second.name)};")
        with code.block(_head(loop), loop.eqns):
            for buffer in loop.private:
                code.line(row_declaration(buffer))
            for view in (view for view in loop.views if view.buffer.name in used):
                const = "const " if view.base.space == "input" else ""
                step = f"{view.step} * " if view.step != 1 else ""
                code.line(f"{const}{_pointer(view.buffer)} = {named(view.base.name)} + {step}{loop.iteration.args[0]};")  # type: ignore[union-attr]
            self.write(loop.condition, top=False)
            self.has_loops = True
            if loop.wanted is not None:
                code.line(f"if (!{code.operand(loop.wanted)}) break;", COPY, loop.eqns)
            self.write(loop.body, top=False)
            for pair in moving:
                a, b = pair.before.name, pair.after.name
                code.line(f"{memory_type(pair.before.dtype)} *const {a}_last = {a}; {a} = {b}; {b} = {a}_last;")
        if loop.wanted is not None:
            for pair in moving:
                result, last = named(pair.result.name), pair.before.name
                code.line(f"if ({last} != {result}) __builtin_memcpy({result}, {last}, {pair.result.nbytes});")

    def _spread(self, loop: Repeat, heading: str) -> None:
        """Write a loop whose iterations run on several threads: a function runs those from `begin` to `end`."""
        buffers, variables = captured_by([loop])
        inner = Code(self.code.reserved)
        inner.eqns = loop.eqns
        if heading and loop.equations:
            inner.comment(heading, loop.equations)
        for line in unpacked(buffers, variables, {b.name for b in buffers if b.space != "input"}):
            inner.line(line)
        inner.declared.update(str(x.args[0]) for x in variables)
        ProgramWriter(inner, self._fuses, self.functions)._repeat(loop)
        name = f"tt_kernel_{len(self.functions)}"
        head = f"void {named(name)}(void *ctx, int64_t begin, int64_t end)"
        self.functions.append(CFunction(name, head, *inner.finished(self.functions)))
        self.code.declared.add(name)
        work = ", ".join(packed(buffers, variables))
        self.code.line(f"{HOST}->parallel_for({name}, (void *[]){{{work}}}, {loop.length}, {loop.grain});", SCAFFOLD,
                       loop.eqns)

    def _choose(self, choice: Choose) -> None:
        assert choice.index is not None
        index = self.code.operand(choice.index)
        last = len(choice.branches) - 1
        for k in range(last, -1, -1):  # out of range counts as the nearest branch
            test = f"{index} <= 0" if k == 0 else f"{index} == {k}" if k < last else f"{index} >= {last}"
            head = "else" if k == 0 and last else f"else if ({test})" if k < last else f"if ({test})"
            with self.code.block(head if last else "", choice.eqns):
                self.write(choice.branches[k], top=False)


def _pointer(buffer: Buffer) -> str:
    return f"{memory_type(buffer.dtype)} *{buffer.name}"


def _head(loop: Repeat) -> str:
    if loop.iteration is None:
        return "for (;;)"
    t = loop.iteration.args[0]
    if loop.grain:
        return f"for (int64_t {t} = begin; {t} < end; {t}++)"
    if loop.reverse:
        return f"for (int64_t {t} = {loop.length - 1}; {t} >= 0; {t}--)"
    return f"for (int64_t {t} = 0; {t} < {loop.length}; {t}++)"
