"""What things cost: one model, on which every pass decides that weighs work against memory, threads or calls.

The unit of work is the *step*: one simple operation (add, multiply, compare, choose) on one element, in a vectorised
loop. An operation is weighed by its record, a statement by its operations and by what it loads and stores. Nothing
here depends on the machine that compiles: the same program gives the same C, and the same sums, everywhere.

The constants are those of the estimates that were brought together here (of memory, of threads, of long chains). They
have not been measured anew since: where they disagreed, a call counts 12 steps and a division 4.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of, subtract
from tinytrace.codegen.ir.kernel import Kernel, Nest, Repeat, inner_programs
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.statements import Call, Combine, For, Stmt, Store, When, expressions
from tinytrace.core.operations import Operation

CALL = 12
"""Steps of a function of csrc/math."""
FEWER = {"tt_rank_of_bits": 5, "tt_bits_at_rank": 4, "tt_f16_to_f32": 8, "tt_bf16_to_f32": 1}
"""Those that are simple operations themselves."""
OF_BITS = frozenset({
    "abs", "neg", "max", "min", "sign", "copysign", "is_finite", "plain", "bits", "float", "fma", "sqrt"})
"""Those that are an instruction or two of vectors, though they count as calls."""
DIVISION = 4
"""Steps of a division."""
LOOP_OF_ITS_OWN = 12
"""Steps from which a value that is kept, and not computed again, has loops of its own."""
REMEMBERING = 12
"""Steps that are worth writing an element to memory and reading it again."""

SHIFTS = ("tt_shl_", "tt_shr_", "tt_sar_")
"""Functions of csrc/math that are a comparison and one instruction."""
WRITTEN_OUT = 16
"""Iterations of an innermost loop that compilers write out, and compute what depends on its counter alone."""

CHAIN = 4
"""Steps that vectors take in about the time in which one addition waits for the one before it."""

STEP = 0.03
"""Nanoseconds of a step."""
LOAD = 0.10
"""Nanoseconds of loading an element from an array larger than the caches."""
STORE = 0.13
"""Nanoseconds of storing one there."""

OWN_CALL, OWN_FLOP = 20.0, 0.3
"""Nanoseconds of a hand-written function on a small array: of calling it, and of each operation that it states."""

PRODUCT = 100
"""Multiplications and additions of a matrix product in a nanosecond, on one thread."""

WORTH_SPREADING = 50_000.0
"""Nanoseconds of work below which a loop stays on the caller's thread."""
CHUNK = 12_000.0
"""Nanoseconds of work that a thread takes at least."""
MOST_CHUNKS = 64
"""Into so many chunks at most work is cut."""


def steps(operation: Operation) -> int:
    """Return the work of an operation on one element."""
    calls = 0 if operation.reads_bits else sum(FEWER.get(name, CALL) for name in operation.calls)
    return max(1, operation.flops, calls + DIVISION * operation.divisions)


def is_dear(operation: Operation) -> bool:
    """Does an operation call a function of csrc/math that is many instructions?"""
    return steps(operation) >= CALL and any(
        name.startswith("tt_") and name[len("tt_"):].rpartition("_")[0] not in OF_BITS for name in operation.calls)


def waits_for_folds(loop: For) -> bool:
    """Does a vectorised loop do so little else than fold into variables that it waits for these?

    Each addition waits for the one before it, so the latency of what adds is all the time of such a loop: three cycles
    of an addition or four of a fused one. Where it has enough else to do, a fused one saves an instruction.
    """
    folds = sum(isinstance(stmt, Combine) for stmt in loop.body)
    work = sum(steps(x.args[0]) for stmt in loop.body for x in walk(expressions(stmt))
               if x.op == "apply" and loop.axis in x.axes)
    return loop.simd and (loop.waits or work + folds <= CHAIN)


def times_each(size: int, extents: Sequence[int], count: int) -> int:
    """Return how often each of `size` elements is read, at most, by loops that read `count` of them in a turn.

    The windows of a pooling that do not overlap have each element once, though four are read for one result.
    """
    return min(count, -(-count * math.prod(extents) // max(size, 1)))


def is_simple(operation: Operation) -> bool:
    """Does an operation divide nothing, and call no function but a shift?"""
    return not operation.divisions and all(name.startswith(SHIFTS) for name in operation.calls)


def duration(body: Sequence[Stmt], times: float = 1.0) -> float:
    """Return about how many nanoseconds statements take on one thread."""
    total = 0.0
    for stmt in body:
        total += times * _once(stmt)
        if isinstance(stmt, For):
            total += duration(stmt.body, times * stmt.axis.args[1])
        elif isinstance(stmt, When):
            total += duration(stmt.body, times)
    return total


def program_duration(kernels: Sequence[Kernel]) -> float:
    """Return about how many nanoseconds kernels take on one thread; a conditional loop is taken to turn once."""
    total = 0.0
    for kernel in kernels:
        inner = [program_duration(program) for program in inner_programs(kernel)]
        match kernel:
            case Nest(body=body):
                total += duration(body)
            case Repeat(length=length):
                total += max(length, 1) * sum(inner)
            case _:
                total += max(inner, default=0.0)
    return total


def _once(stmt: Stmt) -> float:
    cost = STORE if isinstance(stmt, (Store, Combine)) else 0.0
    if isinstance(stmt, Call) and not stmt.procedure.uses_host:
        cost = OWN_CALL + OWN_FLOP * stmt.flops
    streams: dict[object, Node] = {}
    for node in walk(expressions(stmt)):
        if node.op == "load":
            first = streams.setdefault(node.args[0], node.args[1])
            behind = first is not node.args[1] and constant_of(subtract(node.args[1], first)) is not None
            cost += STEP if behind else LOAD  # at a fixed distance from another it comes from the first cache
        elif node.op == "apply":
            cost += STEP * steps(node.args[0])
    return cost


def chunks(nanoseconds: float) -> int:
    """Return into how many chunks a fold of everything is cut that takes so long on one thread."""
    return 1 if nanoseconds < WORTH_SPREADING else min(MOST_CHUNKS, int(nanoseconds / CHUNK))


def even_chunks(nanoseconds: float) -> int:
    """Return the same as a power of two: so many can be shared out evenly."""
    return 1 << chunks(nanoseconds).bit_length() - 1
