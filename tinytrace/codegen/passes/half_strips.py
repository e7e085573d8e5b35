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
A quotient takes a CPU as long as a dozen products, of its own float16 too: those by known numbers are products by the
reciprocal, a float, where that gives every float16 the same. `log2` takes 0.75 of the time, `linspace` 0.25.

Products by powers of two are exact or too large, and so are the sums made of them: `x * 2 + 1` is rounded once.

Of bfloat16 only such loops of sums, products, quotients and choices are cut. Compilers make vectors of them as they
stand, but spend a third of the time on widening elements side by side and packing them again. In a strip they lie in
another order: a word of two elements is a float that is the upper one and one that is the lower, where each has its
place already. So nothing but the elements may depend on where they are.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from tinytrace.codegen.ir.arithmetic import linear
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.nodes import Node, axis, local, number, walk
from tinytrace.codegen.ir.programs import map_bodies
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import (
    Declare,
    Either,
    For,
    Stmt,
    expressions,
)
from tinytrace.codegen.passes.half_phases import Phases, by_products
from tinytrace.codegen.passes.strips import (
    fresh_name,
    from_zero,
    in_strips,
    map_vector_loops,
    without_variables,
)
from tinytrace.core.dtypes import BFLOAT16, FLOAT16
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


def round_in_strips(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose vectorised loops convert two-byte floats a strip at a time."""
    taken: set[str] = set()
    return map_bodies(kernels, lambda body: map_vector_loops(body, lambda loop: _cut(loop, taken)), keep_titles=True)


def _cut(loop: For, taken: set[str]) -> list[Stmt]:
    whole = from_zero(loop)
    if whole is None:
        return [loop]
    extent, body = int(whole.axis.args[1]), without_variables(whole.body, True)
    phases = Phases(whole, body, whole.axis, FLOAT16)
    if extent < FEWEST or not phases.pay() or (phases.folds and extent > LONGEST_FOLD):
        others = (_in_any_order(whole, body, taken) if extent >= max(FEWEST, FEWEST_BFLOAT16) else []) or [loop]
        is_own = extent >= FEWEST_OWN and not loop.grain and phases.compute() and phases.are_own_operations()
        return [Either(OWN, _after_its_numbers(replace(whole, body=body), taken), others)] if is_own else others
    longest = max(FEWEST, min(LONGEST_FOLD if phases.folds else LONGEST, CACHED // phases.strips))

    def inside(part: Sequence[Stmt], lane: Node, size: int) -> list[Stmt]:
        phases = Phases(whole, part, lane, FLOAT16)
        own, multiplied = (For(lane, number(0), number(size), each, True, whole.independent)
                           for each in (part, by_products(part)))
        if not phases.are_own_operations():
            return _in_registers(multiplied, taken) if phases.are_short() \
                else Phases(whole, multiplied.body, lane, FLOAT16).statements(size, taken)
        others = _in_registers(multiplied, taken)
        return [Either(OWN, _after_its_numbers(own, taken), others)] if phases.are_better_as_own() else others

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
    phases = Phases(loop, body, loop.axis, BFLOAT16)
    if not (phases.pay() and phases.are_arithmetic() and phases.have_any_order()):
        return []
    size = REGISTERS[BFLOAT16]
    return in_strips(loop, body, size, lambda part, lane, size: Phases(loop, part, lane, BFLOAT16).statements(
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
        return Phases(loop, moved, lane, FLOAT16).statements(length, taken)

    inside = part(REGISTERS[FLOAT16], lambda lane: linear(0, [(block, REGISTERS[FLOAT16]), (lane, 1)]))
    result: list[Stmt] = [For(block, number(0), number(blocks), inside, independent=loop.independent)]
    return result + (part(rest, lambda lane: linear(size - rest, [(lane, 1)])) if rest else [])
