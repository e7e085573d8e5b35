"""Claims that ranges and strides do not prove, asked of an SMT solver: is there a case in which one does not hold?"""

from __future__ import annotations

import math
from typing import Any

import z3

from tinytrace.codegen.ir.claims import Access, Claim, Meeting
from tinytrace.codegen.ir.nodes import Node, walk

_BINARY = {
    "mul": lambda a, b: a * b, "min": lambda a, b: z3.If(a < b, a, b), "max": lambda a, b: z3.If(a > b, a, b),
    "lt": lambda a, b: z3.If(a < b, 1, 0), "le": lambda a, b: z3.If(a <= b, 1, 0),
    "eq": lambda a, b: z3.If(a == b, 1, 0), "and": lambda a, b: z3.If(z3.And(a != 0, b != 0), 1, 0),
    "or": lambda a, b: z3.If(z3.Or(a != 0, b != 0), 1, 0),
}  # fmt: skip


def counterexample(claim: Claim) -> str:
    """Values of axes and data for which an access lies outside of its array, or two iterations meet; "" for none.

    "unknown" when the solver does not tell.
    """
    solver = z3.Solver()
    solver.set("timeout", 30_000)
    if isinstance(claim, Access):
        offset = _Terms(solver).of(claim)
        solver.add(z3.Or(offset < 0, offset + claim.size > max(claim.buffer.size, 1)))
    else:
        one = _Terms(solver)
        other = _Terms(solver, claim, one)
        solver.add(one.of(claim.store) == other.of(claim.other), one(claim.axis) != other(claim.axis))
    answer = solver.check()
    if answer == z3.unsat:
        return ""
    return str(solver.model()) if answer == z3.sat else "unknown"


class _Terms:
    """The solver's terms for indices and guards: whole numbers; what depends on data may be anything in its range.

    Of `meeting`, those of the other iteration: what is fixed has the terms of the `first` one.
    """

    def __init__(self, solver: z3.Solver, meeting: Meeting | None = None, first: _Terms | None = None) -> None:
        self.solver = solver
        self.meeting, self.first = meeting, first
        self.known: dict[Node, Any] = {}

    def of(self, access: Access) -> Any:
        """The offset of an access, whose conditions and loops the solver is told."""
        for axis, begin, end in access.loops:
            self.solver.add(self(begin) <= self(axis), self(axis) < self(end))
        for guard, holds in access.conditions:
            self.solver.add(self(guard) != 0 if holds else self(guard) == 0)
        return self(access.offset)

    def __call__(self, root: Node) -> Any:
        for node in walk([root]):
            if node not in self.known and node.dtype is None:
                is_shared = self.first is not None and self.meeting is not None and self.meeting.is_fixed(node)
                self.known[node] = self.first(node) if is_shared else self._term(node)
        return self.known[root]

    def _term(self, node: Node) -> Any:
        args, known = node.args, self.known
        if node.op == "affine":
            return z3.IntVal(args[0]) + sum(k * known[x] for x, k in args[1])
        if node.op in ("floordiv", "mod") and args[1].op == "affine" and not args[1].args[1] and args[1].args[0] > 0:
            divisor = args[1].args[0]
            return known[args[0]] / divisor if node.op == "floordiv" else known[args[0]] % divisor
        if node.op in _BINARY:
            return _BINARY[node.op](*(known[x] for x in args))
        if node.op == "where":
            return z3.If(known[args[0]] != 0, known[args[1]], known[args[2]])
        return self._free(node)

    def _free(self, node: Node) -> Any:
        term = z3.Int(f"{node.op}_{node.serial}{'_other' if self.first else ''}_{node}"[:60])
        if math.isfinite(node.low):
            self.solver.add(term >= int(node.low))
        if math.isfinite(node.high):
            self.solver.add(term <= int(node.high))
        return term
