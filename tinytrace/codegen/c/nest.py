"""Loop nests as C: statements, loops, what moves out of a loop, and kernels that run on several threads.

What does not vary with a loop is computed before it. A parallel loop becomes a function of its own that runs
iterations `begin` to `end`; it finds the arrays and variables that it uses through an array of pointers. Kernels that
are equal but for their arrays become one function (`equal_kernels`), as do parallel loops.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinytrace.codegen.c.captures import packed, parameters, unpacked
from tinytrace.codegen.c.clauses import chained, pragma_of
from tinytrace.codegen.c.code import Code
from tinytrace.codegen.c.counters import counted, unrolling
from tinytrace.codegen.c.equal_kernels import Counterparts, Pattern, pattern
from tinytrace.codegen.c.formulas import Text, assigned, spelled_formula
from tinytrace.codegen.c.grouped_loads import has_grouped_loads
from tinytrace.codegen.c.halves import moved, stored
from tinytrace.codegen.c.lines import CALL, COMMENT, COMPUTE, COPY, HOST, SCAFFOLD, CFunction, named
from tinytrace.codegen.c.masks import hide_masks, keep_outside
from tinytrace.codegen.c.quirks import GROUPED_LOADS
from tinytrace.codegen.c.types import narrowed, row_declaration, variable_type, widened
from tinytrace.codegen.c.vector_width import attributes
from tinytrace.codegen.c.words import as_word, read_again
from tinytrace.codegen.ir.arithmetic import constant_of
from tinytrace.codegen.ir.equations import Equation
from tinytrace.codegen.ir.kernel import Nest
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.procedures import STATUS
from tinytrace.codegen.ir.reductions import fold_of, product_taken_in
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Combine,
    Declare,
    Either,
    For,
    Inclusive,
    Place,
    Row,
    Stmt,
    Store,
    When,
    captured,
    changed,
    expressions,
    nested,
    written,
)
from tinytrace.codegen.passes.streaming_stores import is_streaming
from tinytrace.core.dtypes import is_half
from tinytrace.core.formulas import call_host, constant
from tinytrace.records import replace

_PLAIN = frozenset(["axis", "literal", "local", "affine"])


class NestWriter:
    """Writes nests into `code`, and the functions of parallel loops into `functions`."""

    def __init__(self, code: Code, functions: list[CFunction], fuses: bool) -> None:
        self.code = code
        self.functions = functions
        self.fuses = fuses
        """May a product and a sum be rounded once?"""
        self.is_inside_vectors = False
        """Is what is written now in a vectorised loop?"""
        self.chained: frozenset[Node] = frozenset()
        """The variables whose folds are what the loop written now waits for."""
        self._about: tuple[str, Sequence[Equation]] = "", ()
        self._written: dict[object, tuple[int, Counterparts]] = {}
        """For each function that others may share: its number, and which equations it is besides."""

    def write(self, nest: Nest, heading: str | None = None) -> None:
        """Write the loops of one kernel; heading: of the comment in its function, if it becomes one."""
        self._about = heading or "", nest.equations if heading is not None else ()
        self.code.eqns = nest.eqns
        self._body(nest.body)

    def call_shared(self, nest: Nest, pattern: Pattern) -> None:
        """Write a call of the function that is this kernel and those that are equal to it."""
        buffers, variables = nest.captured
        number = self._shared(pattern.key, pattern)
        if number is None:
            number = self._add_shared_function(nest, buffers, variables, pattern)
        words = [named(b.name) for b in buffers] + [self.code.value(x) for x in variables]
        target = ""
        if (result := pattern.result) is not None:
            target = f"{variable_type(result.dtype)} {result.args[0]} = "
            self.code.declared.add(str(result.args[0]))
        self.code.line(f"{target}{named(self.functions[number].name)}({', '.join(words)});", CALL, nest.eqns)

    def _add_shared_function(self, nest: Nest, buffers: Sequence[Buffer], variables: Sequence[Node],
                             pattern: Pattern) -> int:
        number, name = len(self.functions), f"tt_kernel_{len(self.functions)}"
        inner = Code(self.code.reserved)
        inner.eqns = nest.eqns
        inner.line("/* One kernel, and those that are the same but for their arrays. */", COMMENT)
        NestWriter(inner, self.functions, self.fuses)._body(nest.body)
        takes = parameters(buffers, variables, changed(nest.body), pattern.are_apart)
        inner.declared.update(str(x.args[0]) for x in variables)
        gives = "void"
        if (result := pattern.result) is not None:
            gives = variable_type(result.dtype)
            inner.line(f"return {result.args[0]};")
        function = CFunction(name, f"{gives} {named(name)}({takes})", *inner.finished(self.functions))
        self._remember(pattern.key, pattern, function, nest.body)
        return number

    # --- statements --------------------------------------------------------------------------------------------

    def _body(self, body: Sequence[Stmt]) -> None:
        with self.code.counting(root for stmt in body if not isinstance(stmt, For) for root in expressions(stmt)):
            self._read_before_writing(body)
            read_again(self.code, body)
            for stmt in body:
                self._stmt(stmt)

    def _read_before_writing(self, body: Sequence[Stmt]) -> None:
        """Read elements that later statements need and earlier ones overwrite, where two arrays share one place."""
        overwritten: dict[str, Buffer] = {}
        for stmt in body:
            for node in walk(expressions(stmt), certain=True) if overwritten else ():
                if node.op == "load" and overwritten.get(node.args[0].name, node.args[0]) is not node.args[0]:
                    self.code.prepare([node])
                    if self.code.name_of(node) is None:
                        self.code.keep(node)
            overwritten |= {place[0].name: place[0] for place in written(stmt) if not isinstance(place, Node)}

    def _stmt(self, stmt: Stmt) -> None:
        code = self.code
        match stmt:
            case For() if stmt.grain:
                function, work = self._function(stmt)
                spread = f"{HOST}->parallel_for({function}, {work}, {stmt.axis.args[1]}, {stmt.grain});"
                code.line(f"{function}({work});" if is_whole(stmt) else spread)
            case For():
                self._hoist(stmt)
                self._loop(stmt)
            case Declare(x, value, fixed):
                const = "const " if fixed else ""
                text = f"{const}{code.float16.variable(str(x.args[0]), x.dtype)} {x.args[0]} = {code.text_of(value)};"
                code.line(text, SCAFFOLD if x.dtype is None else COPY, x.eqns | value.eqns)
                code.declared.add(str(x.args[0]))
                if fixed:
                    code.know(value, str(x.args[0]))
            case Row(buffer):
                code.line(row_declaration(buffer))
            case Store(place, value, eqns):
                bits = moved(code, value, place[0]) if not isinstance(place, Node) else None
                text = bits or (code.value(value) if code.uses[value] > 1 else code.text_of(value))
                if isinstance(place, Node):
                    code.line(f"{place.args[0]} = {text};", COPY, place.eqns | value.eqns | eqns)
                else:
                    target = self._place(place) if bits else code.float16.target(self._place(place), place[0])
                    word = as_word(code, place, value, text)
                    line = word or f"{target} = {bits or stored(code, value, text, place[0])}"
                    code.line(f"{line};", COPY, value.eqns | place[0].eqns | eqns)
            case Combine(place, op, value):
                self._combine(place, op, value)
            case When(guard, inner):
                with code.block(f"if ({code.value(guard)})"):
                    self._body(inner)
            case Call():
                self._call(stmt)
            case Either(feature, first, second, is_asked=True):
                with code.block(f"if ({HOST}->{named(feature)}())"):
                    self._body(first)
                with code.block("else"):
                    self._body(second)
            case Either(feature, first, second):
                code.line(f"#ifdef {feature}")
                with code.float16.used(feature), code.block(""):
                    self._body(first)
                code.line("#else")
                with code.block(""):
                    self._body(second)
                code.line("#endif")

    def _place(self, place: Place) -> str:
        if isinstance(place, Node):
            return str(place.args[0])
        return f"{named(place[0].name)}[{self.code.value(place[1])}]"

    def _address(self, place: Place) -> str:
        if isinstance(place, Node):
            return f"&{place.args[0]}"
        name = named(place[0].name)
        return name if constant_of(place[1]) == 0 else f"({name} + {self.code.operand(place[1])})"

    def _combine(self, place: Place, op: str, value: Node) -> None:
        dtype = place.dtype if isinstance(place, Node) else place[0].dtype
        assert dtype is not None
        if self.fuses and value.dtype == dtype and self._take_in_product(place, op, value):
            return
        operation = fold_of(op, dtype).operation
        if operation.mentions[1] > 1 and value.op not in _PLAIN and self.code.name_of(value) is None:
            self.code.keep(value)
        target = self._place(place)
        half = not isinstance(place, Node) and is_half(dtype)
        symbol = assigned(operation.formula)
        eqns = value.eqns | (place if isinstance(place, Node) else place[0]).eqns
        if symbol and not half:
            self.code.line(f"{target} {symbol}= {self.code.value(value)};", COMPUTE, eqns)
            return
        pair = Text(widened(target, dtype) if half else target, True), Text(self.code.operand(value), True)
        text = spelled_formula(operation.formula, lambda part: pair[part.args[0]]).text
        self.code.line(f"{target} = {narrowed(text, dtype) if half else text};", COMPUTE, eqns)

    def _take_in_product(self, place: Place, op: str, value: Node) -> bool:
        """Write `place += a * b` with one rounding, if the value is a product that nothing else uses; was it?"""
        product = product_taken_in(op, value) if place not in self.chained else None
        if product is None or self.code.name_of(value) is not None or self.code.uses[value] > 1:
            return False
        target = self._place(place)
        operands = [*map(self.code.operand_text, product.factors), Text(target, True)]
        text = spelled_formula(product.operation.formula, lambda part: operands[part.args[0]]).text
        eqns = value.eqns | (place if isinstance(place, Node) else place[0]).eqns
        self.code.line(f"{target} = {text};", COMPUTE, eqns)
        return True

    def _call(self, call: Call) -> None:
        words = {name: Text(self._address(place), True) for name, place in call.places.items()}
        procedure = call.procedure
        for formula in procedure.calls:
            if call.then is not None:
                function, work = self._function(call.then)
                entry, *args = formula.args
                more = map(constant, (function, work, str(call.then.axis.args[1] // call.rows)))
                formula = call_host(f"{entry}_then", *args, *more)
            text = spelled_formula(formula, lambda part: words[part.args[0]]).text
            if procedure.failure == STATUS:
                with self.code.block(""):
                    self.code.line(f"const int32_t {STATUS} = {text};", CALL)
                    self.code.line(f"if ({STATUS}) return {STATUS};")
                continue
            self.code.line(f"if ({text}) return {procedure.failure};" if procedure.failure else f"{text};", CALL)

    # --- loops -------------------------------------------------------------------------------------------------

    def _loop(self, loop: For) -> None:
        code = self.code
        if constant_of(loop.end) is None and code.name_of(loop.end) is None:
            code.keep(loop.end, "stop")
        begin, end = code.value(loop.begin), code.value(loop.end)
        one_by_one = has_grouped_loads(loop)
        pragma = unrolling(loop) or ("" if one_by_one else pragma_of(loop, self.is_inside_vectors))
        if pragma:
            code.line(pragma)
        head, lines = counted(loop, begin, end)
        with code.block(head):
            for line in (*GROUPED_LOADS.in_text(), *lines) if one_by_one else lines:
                code.line(line)
            around = self.is_inside_vectors, self.chained, code.loop
            code.loop = code.loop if self.is_inside_vectors else loop
            self.is_inside_vectors, self.chained = self.is_inside_vectors or loop.simd, chained(loop)
            self._iteration(loop.body)
            self.is_inside_vectors, self.chained, code.loop = around

    def _iteration(self, body: Sequence[Stmt]) -> None:
        """Write the body of a loop; in a running fold, what comes before the fold is read and what comes after."""
        scan = next((k for k, stmt in enumerate(body) if isinstance(stmt, Inclusive)), None)
        if scan is None:
            self._body(body)
            return
        stmt = body[scan]
        assert isinstance(stmt, Inclusive)
        fuses, self.fuses = self.fuses, False  # compilers know a running fold by its `+=`
        self._statements_as_one(body[:scan])
        self.fuses = fuses
        self.code.line(f"#pragma omp scan inclusive({stmt.local.args[0]})")
        self._statements_as_one(body[scan + 1:])

    def _statements_as_one(self, body: Sequence[Stmt]) -> None:
        """Write statements as one: in braces, unless there is only one line."""
        start = len(self.code.lines)
        with self.code.block(""):
            self._body(body)
        if len(self.code.lines) == start + 3:
            self.code.lines[start:] = [self.code.lines[start + 1].outdented()]

    def _hoist(self, loop: For) -> None:
        """Compute before the loop what does not vary with it."""
        code = self.code
        hide_masks(code, loop)
        inner = list(nested(loop.body))
        axes = {loop.axis, *(stmt.axis for stmt in inner if isinstance(stmt, For))}
        places = [place for stmt in inner for place in written(stmt)]
        arrays = {place[0] for place in places if not isinstance(place, Node)}
        arrays |= {stmt.buffer for stmt in inner if isinstance(stmt, Row)}
        made = {stmt.local for stmt in inner if isinstance(stmt, Declare)}
        changed = {place for place in places if isinstance(place, Node)}
        roots = [root for stmt in _certain(loop.body) for root in expressions(stmt)]
        fixed: dict[Node, bool] = {}
        order = walk(roots, certain=True)
        for node in order:
            fixed[node] = (node not in made and node not in changed and node not in axes
                           and not (node.op == "load" and node.args[0] in arrays)
                           and all(fixed.get(child, False) for child in node.certain)
                           and (node.op != "where" or not axes & node.axes))
        tops = {child for node in order if not fixed[node] for child in node.certain if fixed[child]}
        tops.update(root for root in roots if fixed[root])
        with code.counting(roots):
            for node in order:
                if node in tops and node.op not in _PLAIN and code.name_of(node) is None:
                    if node.op == "where" and any(x in made or x in changed or (x.op == "load" and x.args[0] in arrays)
                                                  for x in walk([node])):
                        continue
                    keep_outside(code, node, loop)

    # --- threads -----------------------------------------------------------------------------------------------

    def _function(self, loop: For) -> tuple[str, str]:
        """Write or find the function that runs a part of `loop`; Returns its name and the pointers that it wants."""
        buffers, variables = captured([loop])
        calls = any(isinstance(stmt, Call) and stmt.procedure.uses_host for stmt in nested([loop]))
        pointers = [*packed(buffers, variables), *[f"(void *){HOST}"] * calls]
        found = pattern([loop])
        number = self._shared((loop.grain, found.key), found)
        if number is None:
            number = len(self.functions)
            self._remember((loop.grain, found.key), found, self._function_of(loop, buffers, variables, calls), [loop])
        elif self._about[1]:
            self.code.comment(*self._about)
        name = self.functions[number].name
        self.code.declared.add(name)
        return name, f"(void *[]){{{', '.join(pointers)}}}"

    def _function_of(self, loop: For, buffers: Sequence[Buffer], variables: Sequence[Node], calls: bool) -> CFunction:
        name = f"tt_kernel_{len(self.functions)}"
        inner = Code(self.code.reserved)
        inner.eqns = self.code.eqns
        written_to = changed([loop])
        if self._about[1]:
            inner.comment(*self._about)
        for line in unpacked(buffers, variables, written_to)[is_whole(loop):]:
            inner.line(line)
        inner.declared.update(str(x.args[0]) for x in variables)
        if calls:
            inner.line(f"const struct tt_host *host = work[{len(buffers) + len(variables)}];")
        writer = NestWriter(inner, self.functions, self.fuses)
        writer._hoist(loop)
        if loop.simd:
            inner.line("#pragma omp simd")
        writer.is_inside_vectors, inner.loop = loop.simd, loop
        shift = f" + {first}" if (first := constant_of(loop.begin)) else ""
        values = inner.value(loop.begin), inner.value(loop.end)
        bounds = values if is_whole(loop) else (f"begin{shift}", f"end{shift}")
        head, lines = counted(loop, *bounds)
        with inner.block(head):
            for line in lines:
                inner.line(line)
            writer._body(loop.body)
        if is_streaming(loop):
            inner.line(named("tt_stream_end") + "();")
        takes = "void *const *work" if is_whole(loop) else "void *ctx, int64_t begin, int64_t end"
        return CFunction(name, f"void {named(name)}({takes})", *inner.finished(self.functions))

    def _shared(self, key: object, found: Pattern) -> int | None:
        """Return the number of a function that does the same, which is these equations too from now on."""
        if key not in self._written:
            return None
        number, counterparts = self._written[key]
        counterparts.add(found)
        return number

    def _remember(self, key: object, found: Pattern, function: CFunction, body: Sequence[Stmt]) -> None:
        self._written[key] = len(self.functions), Counterparts(found)
        self.functions.append(replace(function, attributes=attributes(body)))

    def finish(self) -> None:
        """Let the lines of shared functions know all equations that they stand for."""
        for number, counterparts in self._written.values():
            if counterparts.others:
                function = self.functions[number]
                lines = [line.also(counterparts) for line in function.lines]
                self.functions[number] = replace(function, lines=lines)


def is_whole(loop: For) -> bool:
    """Is a loop with a function of its own not worth spreading over threads?"""
    return loop.grain == int(loop.axis.args[1])


def is_spread(nest: Nest) -> bool:
    """Is all of a kernel one loop that runs on several threads, and so becomes a function?"""
    body = nest.form.body
    return len(body) == 1 and isinstance(body[0], For) and bool(body[0].grain)


def _certain(body: Iterable[Stmt]) -> list[Stmt]:
    """Return the statements that run whenever the loop around them runs."""
    found: list[Stmt] = []
    for stmt in body:
        found.append(stmt)
        if isinstance(stmt, For):
            found += _certain(stmt.body)
    return found
