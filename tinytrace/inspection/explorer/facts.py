"""What is told of one equation: its types, the bytes that it reads and writes, its operations, its kernel."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.kernel import Kernel, Nest, Repeat, inner_programs
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.printer import equations_of
from tinytrace.codegen.ir.statements import Call, Combine, For, Stmt, When, expressions
from tinytrace.core.jaxpr import JaxprEqn, Literal
from tinytrace.records import NamedTuple


class Facts(NamedTuple):
    """What is known of an equation.

    Args:
      avals: the types of its operands and results: `f32[3] f32[] -> f32[3]`.
      nbytes: of its operands and results, each counted once; in a kernel they need not be in memory.
      operations: on elements, as the kernels do them; None if it has none of its own.
      kernels: the numbers of the kernels that compute it.
    """

    avals: str
    nbytes: int
    operations: int | None
    kernels: tuple[int, ...]


def facts_of(eqn: JaxprEqn, operations: Counter[int], kernels: Sequence[frozenset[int]]) -> Facts:
    """Return what is known of an equation.

    operations: of each id, `operations_by_equation`.  kernels: the ids in each kernel, `equations_in`.
    """
    read = {id(x): x.aval for x in eqn.invars if not isinstance(x, Literal)}
    nbytes = sum(aval.nbytes for aval in read.values()) + sum(v.aval.nbytes for v in eqn.outvars)
    types = (" ".join(x.aval.str_short() for x in atoms) for atoms in (eqn.invars, eqn.outvars))
    key = eqn.ids[0]
    members = tuple(k for k, ids in enumerate(kernels) if key in ids)
    return Facts(" -> ".join(types), nbytes, operations.get(key), members)


def equations_in(kernel: Kernel) -> frozenset[int]:
    """Return the ids of the equations that a kernel, programs inside it included, computes."""
    inner = [equations_in(k) for program in inner_programs(kernel) for k in program]
    return kernel.eqns.union(*inner, *(equations_of(stmt) for stmt, _ in _statements(kernel)))


def operations_by_equation(kernels: Sequence[Kernel]) -> Counter[int]:
    """Return how many operations on elements each equation takes, by ids; equal equations have theirs together."""
    total: Counter[int] = Counter()
    for kernel, times in _nests(kernels, 1):
        own: Counter[int] = Counter()
        called = 0
        for stmt, repeated in _statements(kernel):
            for node in walk(expressions(stmt)):
                if node.op == "apply" and not node.args[0].is_conversion:
                    own.update(dict.fromkeys(node.eqns, repeated))
            if isinstance(stmt, Combine):
                place = stmt.place if isinstance(stmt.place, Node) else stmt.place[0]
                own.update(dict.fromkeys(place.eqns or stmt.value.eqns, repeated))
            elif isinstance(stmt, Call):
                called += stmt.flops * repeated
        if called:  # what has no operations in the loops around it is what is called
            own.update(dict.fromkeys(kernel.eqns - own.keys() or kernel.eqns, called))
        total.update({k: n * times for k, n in own.items()})
    return total


def _nests(kernels: Sequence[Kernel], times: int) -> Iterator[tuple[Kernel, int]]:
    """Yield the loops over elements of a program, and how often each runs; a loop that has a condition counts once."""
    for kernel in kernels:
        if isinstance(kernel, Nest):
            yield kernel, times
        repeated = times * max(kernel.length, 1) if isinstance(kernel, Repeat) else times
        for program in inner_programs(kernel):
            yield from _nests(program, repeated)


def _statements(kernel: Kernel) -> Iterator[tuple[Stmt, int]]:
    """Yield the statements of loops over elements, and how often each runs."""
    stack: list[tuple[Stmt, int]] = [(stmt, 1) for stmt in kernel.body] if isinstance(kernel, Nest) else []
    while stack:
        stmt, times = stack.pop()
        yield stmt, times
        if isinstance(stmt, For):
            stack += [(inner, times * int(stmt.axis.args[1])) for inner in stmt.body]
        elif isinstance(stmt, When):
            stack += [(inner, times) for inner in stmt.body]
        elif isinstance(stmt, Call) and stmt.then is not None:
            stack.append((stmt.then, times))
