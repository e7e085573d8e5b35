"""What a loop over a strip of two-byte floats becomes: loops between calls that widen, round and narrow strips.

A value of which the bits are asked is narrowed as a whole, too, and its bits are read from a strip of two bytes each;
one that is made of bits lies in such a strip first, and is widened as a whole. A float16 that is converted in the midst
of a loop takes a dozen integer operations: `frexp` took five times as long as that of float32.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tinytrace.codegen.ir.arithmetic import rebuild, stride_along, subtract
from tinytrace.codegen.ir.cost import DIVISION, steps
from tinytrace.codegen.ir.exact import is_power_of_two_times
from tinytrace.codegen.ir.inserted_operations import div, half_by_number
from tinytrace.codegen.ir.nodes import Node, apply, literal, load, number, own_by, rewrite, value_of, walk
from tinytrace.codegen.ir.procedures import narrow_halves, round_halves, widen_halves
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Call, Combine, For, Place, Row, Stmt, Store, expressions
from tinytrace.codegen.ir.two_byte_floats import are_bits_in_memory, is_arithmetic, is_counted, is_own
from tinytrace.codegen.passes.strips import folds_into_variables, fresh_name, reads_late
from tinytrace.core.dtypes import BFLOAT16, BOOL, FLOAT16, FLOAT32, DType, is_half
from tinytrace.core.operations import Operation
from tinytrace.csources import is_long

UNSEEN = 16
"""What is added to a number too large for float16, 65536 or more, and leaves it so: 65520 is rounded to infinity."""
SHORT = 40
"""Steps of a loop that is unrolled four times: `floor` and `sqrt` take 0.7 to 0.75 of the time in registers, gcc takes
1.1 to 1.6. Of long functions `exp` takes 0.86 and `log` 0.95, and gcc 1.2 to 1.7: these are not."""
MOST = 24
"""Values of a loop that are kept in strips."""
MANY_ROUNDED = 5
"""Sums and products beside a quotient by a known number, from which on a CPU with float16 of its own divides: with one
such a loop takes 0.35 of the time in strips, which multiply, with two 0.5 to 0.7, with four 0.9, with five 1.1 (Emerald
Rapids)."""
MOST_REPEATED = 2
"""What stands between roundings is computed in every loop that needs it; so many times as much work is too much."""


def by_products(body: Sequence[Stmt]) -> list[Stmt]:
    """Return statements in which float16 that are divided by a number are multiplied by its reciprocal, a float."""
    found: dict[Node, Node] = {}
    for node in walk(root for stmt in body for root in expressions(stmt)):  # what is inside comes before
        if (by_product := _product_for(node)) is not None:
            operation, inverse = by_product
            x, = rewrite([node.args[1]], dict(found), rebuild)
            found[node] = apply(operation, (x, literal(inverse, FLOAT32)))
            found[node].hint = node.hint
            own_by(found[node], node.eqns)
    return Replacement(found).of(body) if found else [*body]


def _product_for(node: Node) -> tuple[Operation, Any] | None:
    """Return what a float16 that is divided by a known number is multiplied by; by powers of two compilers multiply."""
    if node.op != "apply" or node.args[0] is not div(FLOAT16) or node.args[2].op != "literal":
        return None
    divisor = float(value_of(node.args[2]))
    return half_by_number(FLOAT16, divisor) if abs(math.frexp(divisor)[0]) != 0.5 else None


class Phases:
    """The loops over a strip: each computes what needs no other roundings than those before it.

    A value is *kept* in a strip if it is widened, rounded or narrowed as a whole; what stands between is computed in
    every loop that reads it.
    """

    def __init__(self, loop: For, body: Sequence[Stmt], lane: Node, dtype: DType) -> None:
        self.loop = loop
        self.dtype = dtype
        """The two-byte floats that are kept in strips."""
        self.body = body
        self.lane = lane
        self.folds = folds_into_variables(body)
        self.nodes = walk(root for stmt in body for root in expressions(stmt))
        self.operands = {child for node in self.nodes for child in node.children}
        self.narrowed = [stmt for stmt in body if isinstance(stmt, Store) and self._is_narrowed(stmt)]
        others = [stmt for stmt in body if stmt not in self.narrowed]
        self.bits = {node: node for node in self.nodes if are_bits_in_memory(node)}
        self.computed_bits = [node for node in self.nodes if self._reads_computed(node)]
        """The bits of values that are computed here."""
        self.asked = {node.children[0] for node in self.computed_bits}
        self.words = {node for node in self.nodes if self._is_of_words(node)}
        """The values whose bits are made of those of others in memory,"""
        self.of_bits = self.words | {node for node in self.nodes if self._is_of_bits(node)}
        """or of integers."""
        as_bits = {*self.bits, *self.computed_bits, *self.words}
        readers = Counter(child for node in self.nodes if node not in as_bits for child in node.children)
        readers.update(root for stmt in others for root in expressions(stmt))
        self.read = set(readers)
        """The values of which something else is made than a result that is narrowed."""
        results = {stmt.value for stmt in self.narrowed}
        apart = {stmt.value for stmt in others if isinstance(stmt, Store) and isinstance(stmt.place, tuple)
                 and stmt.place[0].dtype == self.dtype and readers[stmt.value] == 1}  # the store rounds them, or a call
        self.chosen = self._chosen(results, {root for stmt in others for root in expressions(stmt)})
        """The values that are narrowed, or one of several of which one is: that rounds them."""
        self.kept = [node for node in self.nodes if lane in node.axes and (
            node in results or (self._is_widened(node) and node in self.read)
            or (self._is_rounded(node) and node not in apart) or node in self.asked or node in self.of_bits
            or (readers[node] > 1 and node.op == "apply" and steps(node.args[0]) >= DIVISION))]
        kept = set(self.kept)
        self.level: dict[Node, int] = {}
        """The first loop that can read a value."""
        for node in self.nodes:
            below = max((self.level[child] for child in node.children), default=0)
            self.level[node] = below + (node in kept and node.op != "load")
        self.made: dict[int, list[Node]] = {}
        """What each loop makes and keeps."""
        for node in self.kept:
            if node.op != "load":
                self.made.setdefault(self.level[node] - 1, []).append(node)
        self.left: dict[int, list[Stmt]] = {}
        """The other statements of each loop."""
        for stmt in others:
            self.left.setdefault(max(self.level[root] for root in expressions(stmt)), []).append(stmt)

    def _chosen(self, results: set[Node], others: set[Node]) -> set[Node]:
        found: set[Node] = set()
        readers: dict[Node, list[Node]] = {}
        for node in reversed(self.nodes):  # readers come first
            known = readers.get(node, [])
            if node not in others and (known or node in results or node in self.asked) and all(
                    reader in found and reader.op == "apply" and reader.args[0].name == "select_n" for reader in known):
                found.add(node)
            for child in node.children if node not in self.computed_bits else ():
                readers.setdefault(child, []).append(node)
        return found

    def _reads_computed(self, node: Node) -> bool:
        return node.op == "apply" and node.args[0].reads_bits and self.lane in node.axes \
            and node.children[0].op == "apply" and node.children[0].dtype == self.dtype

    def _is_of_bits(self, node: Node) -> bool:
        return node.op == "apply" and node.dtype == self.dtype and node.args[0].bits is not None \
            and node in self.operands and self.lane in node.axes

    def _is_of_words(self, node: Node) -> bool:
        return node.op == "apply" and node.dtype == self.dtype and bool(node.args[0].word_function) \
            and node in self.operands and self.lane in node.axes \
            and all(x.op == "literal" or self._is_widened(x) for x in node.children)

    def _is_widened(self, node: Node) -> bool:
        return node.op == "load" and self._is_narrow(node.args[0]) and stride_along(node.args[1], self.lane) == 1

    def _is_narrowed(self, stmt: Store) -> bool:
        """Is a strip stored? Not what is read backwards, or at other distances, and stored as it is, nor bits."""
        is_moved = (stmt.value.op == "load" and not self._is_widened(stmt.value)) or (
            stmt.value.op == "apply" and stmt.value.args[0].bits is not None and stmt.value not in self.operands)
        return isinstance(stmt.place, tuple) and self._is_narrow(stmt.place[0]) and self.lane in stmt.value.axes \
            and stride_along(stmt.place[1], self.lane) == 1 and not is_moved

    def _is_narrow(self, buffer: Buffer) -> bool:
        return buffer.dtype == self.dtype and not buffer.wide

    def pay(self) -> bool:
        """May the loop be cut, and is there something to convert?"""
        applied = [node for node in self.nodes if node.op == "apply"]
        halves = [node for node in self.kept if node.dtype == self.dtype]
        if not halves or len(self.kept) > MOST or not (self.compute() or self.folds or self._narrow()) \
                or any(node.op == "where" for node in self.nodes):
            return False
        kept = set(self.kept)
        work = sum(node in self.made.get(k, ()) or node not in kept
                   for k in self._loops() for node in self._cone(k) if node.op == "apply")
        return self._reads_in_time() and work <= MOST_REPEATED * len(applied)

    def _reads_in_time(self) -> bool:
        """Is nothing read that a loop before has overwritten?

        A counter that every element has is read and written at one place, and by one loop alone.
        """
        written: dict[str, list[tuple[Node | None, int]]] = {}
        for stmt in self.body:
            if isinstance(stmt, (Store, Combine)) and isinstance(stmt.place, tuple):
                is_changed_here = isinstance(stmt, Store) and stmt not in self.narrowed
                loop = max(self.level[root] for root in expressions(stmt)) if is_changed_here else -1
                written.setdefault(stmt.place[0].name, []).append((stmt.place[1] if is_changed_here else None, loop))
        as_bits = {child for node in (*self.bits, *self.words) for child in node.children}
        late = [node for node in self.nodes if node.op == "load" and (node in as_bits or not self._is_widened(node))]
        cones = {k: self._cone(k) for k in self._loops()} if late and written else {}
        return all(written[node.args[0].name] == [(node.args[1], k)]
                   for node in late if node.args[0].name in written
                   for k, cone in cones.items() if node in cone)

    def compute(self) -> bool:
        """Is there an operation on such floats, besides conversions, changes of signs, and what bits are stored of?"""
        words = {stmt.value for stmt in self.narrowed if stmt.value.op == "apply" and stmt.value.args[0].word_function
                 and all(x.op in ("load", "literal") for x in stmt.value.children)} - self.read | {*self.bits}
        return any(self.dtype in node.args[0].operands and not (node.args[0].is_conversion or node.args[0].sign_bit)
                   for node in self.nodes if node.op == "apply" and node not in words)

    def _narrow(self) -> bool:
        """Does another number become a float16?"""
        return self.dtype == FLOAT16 and any(
            stmt.value.op == "cast" or (stmt.value.op == "apply" and not any(map(is_half, stmt.value.args[0].operands)))
            for stmt in self.narrowed)

    def are_arithmetic(self) -> bool:
        """Is all that is computed sums, products, quotients and choices of the greater or lesser, of such floats?"""
        computed = [node for node in self.nodes if node.op in ("load", "literal", "local", "apply") and node.dtype]
        return len(self.narrowed) == len(self.body) and all(
            node.dtype == self.dtype and (node.op != "apply" or is_arithmetic(node.args[0], self.dtype))
            for node in computed)

    def are_own_operations(self) -> bool:
        """Is all that is computed what a CPU with such floats does in one operation each, rounded once, and all that is
        made of it such floats, or truth values?"""
        others = [stmt for stmt in self.body if isinstance(stmt, (Store, Combine)) and stmt not in self.narrowed]
        if reads_late(self.body) or any(node.op == "load" and node.args[0].wide for node in self.nodes) \
                or any(node.op == "cast" for node in self.nodes):
            return False  # compilers make no vectors of float16 that integers become
        return all(is_counted(stmt.value) if isinstance(stmt, Combine) else stmt.value.dtype == BOOL
                   for stmt in others) and all(
            node.dtype in (self.dtype, BOOL) if node.op != "apply" else is_own(node.args[0]) or (
                node.dtype != BOOL and is_counted(node))
            for node in self.nodes if node.dtype and node.op != "where")

    def are_better_as_own(self) -> bool:
        """Is such a loop quicker with quotients by known numbers than a strip is with products in their place?"""
        rounded = [node for node in self.nodes if self._is_rounded(node)]
        quotients = sum(_product_for(node) is not None for node in rounded)
        return not quotients or len(rounded) - quotients >= MANY_ROUNDED

    def are_short(self) -> bool:
        """Is what is computed for an element so little that a compiler soon has four vectors of it?"""
        operations = [node.args[0] for node in self.nodes if node.op == "apply"]
        return not (self.folds or self.asked) and sum(map(steps, operations)) <= SHORT \
            and not any(is_long(name) for operation in operations for name in operation.calls)

    def have_any_order(self) -> bool:
        """Does nothing depend on the place of an element in its strip?"""
        return all(self._is_widened(node) or self.lane not in node.axes
                   for node in self.nodes if node.dtype is not None and node.op != "apply")

    def _loops(self) -> range:
        return range(max([*self.made, *self.left], default=-1) + 1)

    def _cone(self, k: int) -> set[Node]:
        """Return all that loop k computes or reads."""
        kept = set(self.kept)
        rest = [*self.made.get(k, ()), *(root for stmt in self.left.get(k, ()) for root in expressions(stmt))]
        tops, found = set(self.made.get(k, ())), set(rest)
        while rest:
            node = rest.pop()
            if node in tops or node not in kept:
                rest += [child for child in node.children if child not in found]
                found.update(node.children)
        return found

    @property
    def strips(self) -> int:
        """How many strips there are."""
        return len(set(self._rows(0, set()).values())) + len(self.asked | self.of_bits)

    def statements(self, size: int, taken: set[str]) -> list[Stmt]:
        """Return the strips, and the loops over them between calls of what converts them."""
        rows = self._rows(size, taken)
        bits = {node: Buffer(fresh_name(f"{node.hint or 'value'}_bits", taken), (size,), self.dtype, "row")
                for node in self.kept if node in self.asked or node in self.of_bits}
        readings = {node: load(row, self.lane, row.dtype) for node, row in rows.items()} | self.bits
        readings |= {node: apply(node.args[0], [load(bits[node.children[0]], self.lane, self.dtype)])
                     for node in self.computed_bits}
        result: list[Stmt] = [Row(row) for row in (*dict.fromkeys(rows.values()), *bits.values())]
        widened = [node for node in self.kept if node.op == "load"]
        for node in widened:
            source = node.args[0], self._begin(node.args[1])
            places: dict[str, Place] = {"to": (rows[node], number(0)), "from": source}
            result.append(Call(widen_halves(size, self.dtype), places, ("to",)))
        result += self._narrowings(widened, rows, size)
        for k in self._loops():
            made = self.made.get(k, [])
            body: list[Stmt] = []
            for node in made:
                others = {old: new for old, new in readings.items() if old is not node}
                value = node if node in self.words else rewrite([node], others, rebuild)[0]
                body.append(Store(((bits if node in self.of_bits else rows)[node], self.lane), value))
            body += Replacement(readings).of(self.left.get(k, []))
            result.append(For(self.lane, number(0), number(size), body, True, self.loop.independent))
            result += self._conversions(made, rows, bits, size)
            result += self._narrowings(made, rows, size)
        return result

    def _conversions(self, made: Sequence[Node], rows: Mapping[Node, Buffer], bits: Mapping[Node, Buffer],
                     size: int) -> list[Stmt]:
        """Return what rounds values that have been made, and what makes floats of bits and bits of floats."""
        calls: list[Stmt] = [
            Call(round_halves(size, self.dtype), {"strip": (rows[node], number(0))}, ("strip",)) for node in made
            if self._is_rounded(node) and node in self.read and not self._is_rounded_later(node)
            and node not in self.chosen and node not in self.of_bits]
        for node in made:
            if node in bits:
                make, to, source = (widen_halves, rows, bits) if node in self.of_bits else (narrow_halves, bits, rows)
                places: dict[str, Place] = {"to": (to[node], number(0)), "from": (source[node], number(0))}
                calls.append(Call(make(size, self.dtype), places, ("to",)))
        return calls

    def _is_rounded_later(self, node: Node) -> bool:
        """Is a product exact, or so large that the sums made of it are infinite either way?"""
        others = {root for stmt in self.body if stmt not in self.narrowed for root in expressions(stmt)}
        return is_power_of_two_times(node) and node not in others and all(
            reader.op == "apply" and reader.dtype == FLOAT16 and reader.args[0].name in ("add", "sub")
            and any(x.op == "literal" and abs(float(value_of(x))) <= UNSEEN for x in reader.children)
            for reader in self.nodes if node in reader.children)

    def _narrowings(self, made: Sequence[Node], rows: Mapping[Node, Buffer], size: int) -> list[Stmt]:
        """Return what stores the results among some values."""
        calls: list[Stmt] = []
        for stmt in self.narrowed:
            if stmt.value in made and isinstance(stmt.place, tuple):
                places: dict[str, Place] = {"to": (stmt.place[0], self._begin(stmt.place[1])),
                                            "from": (rows[stmt.value], number(0))}
                calls.append(Call(narrow_halves(size, self.dtype), places, ("to",)))
        return calls

    def _begin(self, offset: Node) -> Node:
        return subtract(offset, self.lane)

    def _rows(self, size: int, taken: set[str]) -> dict[Node, Buffer]:
        """Return the strip of each value that is kept; one that is read no more is used again."""
        last = {node: k for k in self._loops() for node in self._cone(k)}
        rows: dict[Node, Buffer] = {}
        free: list[Buffer] = []
        for k in range(-1, len(self._loops())):
            for node in self.made.get(k, []) if k >= 0 else [node for node in self.kept if node.op == "load"]:
                fit = next((row for row in free if row.dtype == node.dtype), None)
                if fit is not None:
                    free.remove(fit)
                rows[node] = fit or self._row(node, size, taken)
            ended = [row for node, row in rows.items() if last.get(node, -1) == k]
            free += [row for row in ended if row not in free]
        return rows

    def _row(self, node: Node, size: int, taken: set[str]) -> Buffer:
        assert node.dtype is not None
        name = fresh_name(f"{node.args[0].name if node.op == 'load' else node.hint or 'value'}_strip", taken)
        return Buffer(name, (size,), node.dtype, "row", wide=node.dtype == self.dtype)

    def _is_rounded(self, node: Node) -> bool:
        """Is this the result of an operation that is rounded to such a float?"""
        return node.op == "apply" and node.dtype == self.dtype and node.args[0].ulp != 0 \
            and not (self.dtype == BFLOAT16 and is_power_of_two_times(node))  # it has as many exponents as a float
