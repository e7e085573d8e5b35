"""Loops that compute with two-byte floats run strip by strip, and a strip is rounded as a whole.

    for i < n: y[i] = a[i] * b[i] + a[i]

    is    for each strip of 1024 i: a_wide = a; b_wide = b
                                    for j: c_wide[j] = a_wide[j] * b_wide[j]
                                    round c_wide
                                    for j: y_wide[j] = c_wide[j] + a_wide[j]
                                    y = y_wide

A CPU converts a vector of float16 in one instruction, but compilers (gcc 12) make no vectors of a loop in which it
stands, and a rounding written with integers takes nine operations. What widens, rounds and narrows a strip is a
function of csrc/math/halves.h, with the instruction where the CPU has it. Strips stay in the first-level cache. Arrays
that are wide already (`flat_rows.py`) are read and written as they are.

What is made of sums, products, quotients, comparisons and choices, of truth values, and of short functions, is cut into
strips of four vectors: these stay in registers from the first loop to the last (`c/short_rows.py`), and while one waits
for a conversion the others go on. A store of a strip takes as long as four operations (Zen 4 writes 32 bytes at once):
in registers `isclose` takes 0.56 of the time, `where(x, y, z)` 0.52. A CPU that computes with float16 itself takes such
a loop as it stands: both ways are written, and the compiler takes one.

Numbers that become float16 are such strips too: float32 take 0.65 of the time, integers 0.4, sums of float32 0.43.
Products by powers of two are exact or too large, and so are the sums made of them: `x * 2 + 1` is rounded once.

Of bfloat16 only such loops of sums, products, quotients and choices are cut. Compilers make vectors of them as they
stand, but spend a third of the time on widening elements side by side and packing them again. In a strip they lie in
another order: a word of two elements is a float that is the upper one and one that is the lower, where each has its
place already. So nothing but the elements may depend on where they are.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tinytrace.codegen.ir.arithmetic import linear, rebuild, stride_along, subtract
from tinytrace.codegen.ir.cost import DIVISION, steps
from tinytrace.codegen.ir.exact import is_power_of_two_times
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, load, local, number, rewrite, value_of, walk
from tinytrace.codegen.ir.procedures import narrow_halves, round_halves, widen_halves
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Combine,
    Declare,
    Either,
    For,
    Place,
    Row,
    Stmt,
    Store,
    expressions,
)
from tinytrace.codegen.ir.two_byte_floats import are_bits_in_memory, is_arithmetic, is_counted, is_own
from tinytrace.codegen.passes.strips import (
    folds_into_variables,
    fresh_name,
    from_zero,
    in_strips,
    map_vector_loops,
    reads_late,
    without_variables,
)
from tinytrace.core.dtypes import BFLOAT16, BOOL, FLOAT16, DType, is_half
from tinytrace.csources import is_long
from tinytrace.records import replace

OWN = "__AVX512FP16__"
"""What compilers say where the CPU computes with float16."""
FEWEST, FEWEST_OWN = 32, 16
"""Shorter loops are left as they are; where the CPU computes with float16, those that are shorter yet. Rows of 32 to
127 elements take 0.15 to 0.65 of the time in strips (exponentials, rows that are normalised); not those of bfloat16."""
FEWEST_BFLOAT16 = 128
LONGEST, LONGEST_FOLD = 1024, 2048
"""Elements of a strip; a loop that folds into a variable is not cut, for its terms would be added in another order."""
CACHED = 6144
"""Elements of all strips together: they wait in the first-level cache."""
REGISTERS = {FLOAT16: 64, BFLOAT16: 128}
"""Elements of a strip that stays in registers: four vectors of 512 bits, or eight: a chain of 5 operations on bfloat16
takes 0.68 of the time with four of them and 0.58 with eight, one of 20 operations 0.63 and 0.40 (Zen 5). gcc compiles
all that is unrolled longer, of 15 operations 1.6 and 2.1 times as long."""
UNSEEN = 16
"""What is added to a number too large for float16, 65536 or more, and leaves it so: 65520 is rounded to infinity."""
SHORT = 40
"""Steps of a loop that is unrolled four times: `floor` and `sqrt` take 0.7 to 0.75 of the time in registers, gcc takes
1.1 to 1.6. Of long functions `exp` takes 0.86 and `log` 0.95, and gcc 1.2 to 1.7: these are not."""
MOST = 24
"""Values of a loop that are kept in strips."""
MOST_REPEATED = 2
"""What stands between roundings is computed in every loop that needs it; so many times as much work is too much."""


def round_in_strips(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose vectorised loops convert two-byte floats a strip at a time."""
    taken: set[str] = set()
    return map_bodies(kernels, lambda body: map_vector_loops(body, lambda loop: _cut(loop, taken)), keep_titles=True)


def _cut(loop: For, taken: set[str]) -> list[Stmt]:
    whole = from_zero(loop)
    if whole is None:
        return [loop]
    extent, body = int(whole.axis.args[1]), without_variables(whole.body, True)
    phases = _Phases(whole, body, whole.axis, FLOAT16)
    if extent < FEWEST or not phases.pay() or (phases.folds and extent > LONGEST_FOLD):
        others = (_in_any_order(whole, body, taken) if extent >= max(FEWEST, FEWEST_BFLOAT16) else []) or [loop]
        is_own = extent >= FEWEST_OWN and not loop.grain and phases.compute() and phases.are_own_operations()
        return [Either(OWN, _after_its_numbers(replace(whole, body=body), taken), others)] if is_own else others
    longest = max(FEWEST, min(LONGEST_FOLD if phases.folds else LONGEST, CACHED // phases.strips))

    def inside(part: Sequence[Stmt], lane: Node, size: int) -> list[Stmt]:
        phases = _Phases(whole, part, lane, FLOAT16)
        strip = For(lane, number(0), number(size), part, True, whole.independent)
        if not phases.are_own_operations():
            return _in_registers(strip, taken) if phases.are_short() else phases.statements(size, taken)
        others = _in_registers(strip, taken)
        return [Either(OWN, _after_its_numbers(strip, taken), others)]

    return in_strips(whole, body, longest, inside)


def _after_its_numbers(loop: For, taken: set[str]) -> list[Stmt]:
    """Return a loop whose values that are the same for all elements are variables before it: gcc makes no vectors of a
    loop in which one of them becomes a float16."""
    roots = [root for stmt in loop.body for root in expressions(stmt)]
    varying = [node for node in walk(roots) if loop.axis in node.axes]
    same = dict.fromkeys(node for node in (*roots, *(child for node in varying for child in node.children))
                         if node.dtype == FLOAT16 and loop.axis not in node.axes and node.op != "literal")
    named = {node: local(fresh_name(f"{node.hint or 'value'}_own", taken), FLOAT16) for node in same}
    return [*(Declare(variable, node, fixed=True) for node, variable in named.items()),
            replace(loop, body=Replacement(named).of(loop.body))]


def _in_any_order(loop: For, body: Sequence[Stmt], taken: set[str]) -> list[Stmt]:
    """Return a loop over bfloat16 as one over strips in registers; nothing if it is to stay as it is."""
    phases = _Phases(loop, body, loop.axis, BFLOAT16)
    if not (phases.pay() and phases.are_arithmetic() and phases.have_any_order()):
        return []
    size = REGISTERS[BFLOAT16]
    return in_strips(loop, body, size, lambda part, lane, size: _Phases(loop, part, lane, BFLOAT16).statements(
        size, taken), multiple=size)


def _in_registers(loop: For, taken: set[str]) -> list[Stmt]:
    """Return a loop over a strip as one over strips that stay in registers, and what is left over."""
    size, name = int(loop.axis.args[1]), str(loop.axis.args[0])
    blocks, rest = divmod(size, REGISTERS[FLOAT16])
    around = {str(outer.args[0]) for stmt in loop.body for root in expressions(stmt) for outer in root.axes}
    block = axis(fresh_name(f"{name}_block", around), blocks)

    def part(length: int, place: Callable[[Node], Node]) -> list[Stmt]:
        lane = axis(name, length)
        moved = Replacement({loop.axis: place(lane)}).of(loop.body)
        return _Phases(loop, moved, lane, FLOAT16).statements(length, taken)

    inside = part(REGISTERS[FLOAT16], lambda lane: linear(0, [(block, REGISTERS[FLOAT16]), (lane, 1)]))
    result: list[Stmt] = [For(block, number(0), number(blocks), inside, independent=loop.independent)]
    return result + (part(rest, lambda lane: linear(size - rest, [(lane, 1)])) if rest else [])


class _Phases:
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
        readers = Counter(child for node in self.nodes if node not in self.bits for child in node.children)
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
            or (self._is_rounded(node) and node not in apart)
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
            if node not in others and (known or node in results) and all(
                    reader in found and reader.op == "apply" and reader.args[0].name == "select_n" for reader in known):
                found.add(node)
            for child in node.children:
                readers.setdefault(child, []).append(node)
        return found

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
        as_bits = {node.children[0] for node in self.bits}
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
        if reads_late(self.body) or any(node.op == "load" and node.args[0].wide for node in self.nodes):
            return False
        return all(is_counted(stmt.value) if isinstance(stmt, Combine) else stmt.value.dtype == BOOL
                   for stmt in others) and all(
            node.dtype in (self.dtype, BOOL) if node.op != "apply" else is_own(node.args[0]) or is_counted(node)
            for node in self.nodes if node.dtype and node.op != "where")

    def are_short(self) -> bool:
        """Is what is computed for an element so little that a compiler soon has four vectors of it?"""
        operations = [node.args[0] for node in self.nodes if node.op == "apply"]
        return not self.folds and sum(map(steps, operations)) <= SHORT \
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
        return len(set(self._rows(0, set()).values()))

    def statements(self, size: int, taken: set[str]) -> list[Stmt]:
        """Return the strips, and the loops over them between calls of what converts them."""
        rows = self._rows(size, taken)
        readings = {node: load(row, self.lane, row.dtype) for node, row in rows.items()} | self.bits
        result: list[Stmt] = [Row(row) for row in dict.fromkeys(rows.values())]
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
                body.append(Store((rows[node], self.lane), rewrite([node], others, rebuild)[0]))
            body += Replacement(readings).of(self.left.get(k, []))
            result.append(For(self.lane, number(0), number(size), body, True, self.loop.independent))
            result += [Call(round_halves(size, self.dtype), {"strip": (rows[node], number(0))}, ("strip",))
                       for node in made
                       if self._is_rounded(node) and node in self.read and not self._is_rounded_later(node)
                       and node not in self.chosen]
            result += self._narrowings(made, rows, size)
        return result

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
