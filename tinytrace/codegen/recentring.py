"""Sums around a total of the same elements, in one pass over memory: the variance, and the mean that it is around.

    for piece: { near = what the total would be if all were like the piece's first elements;  p = mean(near)
                 for i in piece simd: { d = x[i] - p;  s += x[i];  m += d * d;  e += d } }
    s = sum of parts;  c = mean(s);  v = 0; for piece: v += m - 2 (c - p) e + (c - p)^2 n

The formula is that of `polynomials`. With n elements in a piece of which k make the estimate, n (mean - p)^2 is at most
n / k times the piece's own sum of squared differences: at most 16 times what two passes lose is lost, most often once.
Source: Chan, Golub & LeVeque, "Algorithms for Computing the Sample Variance", The American Statistician 37 (1983).
"""
from __future__ import annotations

import math
from dataclasses import replace as replaced

from tinytrace.codegen.arithmetic import linear, minimum, rebuild
from tinytrace.codegen.c_types import spelled
from tinytrace.codegen.elements import as_element
from tinytrace.codegen.kernel import Combine, Declare, For, Stmt, Store
from tinytrace.codegen.nodes import Node, apply, axis, literal, local, number, rewrite, walk
from tinytrace.codegen.pieces import InPieces
from tinytrace.codegen.polynomials import Errors, late_values, polynomial
from tinytrace.codegen.tasks import StagePlan, Task, folds, start_of, variable
from tinytrace.core.dtypes import DType

SAMPLE = 16
"""The first of so many equal parts of a piece makes the estimate."""


class Recentred(InPieces):
    """Code of `first`, folds of everything, and of `second`, sums around some of their results."""

    def __init__(self, first: StagePlan, second: StagePlan, count: int) -> None:
        self.totals = {variable(task): task for task in first.tasks if task.root.combine == "sum"}
        values = {total: task.value for total, task in self.totals.items()}
        start, extent = first.inner[0], int(first.inner[0].args[1])
        self.firsts, self.seconds = list(first.tasks), list(second.tasks)
        super().__init__(StagePlan(first.inner, [*self.firsts, *self.seconds]), count)
        turns = max(1, int(self.inside.args[1]) // SAMPLE)
        begin = minimum(linear(0, [(self.piece, self.inside.args[1])]), number(extent - turns))
        self.sampled = axis(f"{start.args[0]}_sample", turns)
        self.samples = {total: rewrite([value], {start: linear(0, [(begin, 1), (self.sampled, 1)])}, rebuild)[0]
                        for total, value in values.items()}
        self.share = extent / turns
        """How many times as many elements there are as in a sample."""
        self.centres: dict[Node, Node] = {}
        """For each late value the variable of its estimate."""
        self.moments: dict[Task, list[tuple[Task | None, float, tuple[Node, ...]]]] = {}
        """What each sum consists of: (fold, or None for the number of elements; factor; errors that it is times)."""
        for task in self.seconds:
            self._expand(task)
        self.stages[0].tasks = [*self.firsts, *(m for parts in self.moments.values() for m, _, _ in parts if m)]

    def _expand(self, task: Task) -> None:
        """Make the folds of which `task` is to consist."""
        late = late_values(task.value, self.totals)
        assert late is not None
        for c in late:
            self.centres.setdefault(c, local(f"{task.name}_centre" + (f"_{len(self.centres)}" * bool(self.centres)),
                                             c.dtype))
        expanded = polynomial(task.value, {c: self.centres[c] for c in late})
        assert expanded is not None
        all_terms: Errors = {(): {expanded.known: 1.0}, **expanded.errors}
        parts = self.moments[task] = []
        for errors, terms in all_terms.items():
            for value, factor in terms.items():
                name = f"{task.name}_moment" + f"_{len(parts)}" * bool(parts)
                fold = None if value is None else replaced(task, value=value, targets=[], name=name, remembered=False)
                parts.append((fold, factor, errors))

    def statements(self) -> list[Stmt]:
        stores: list[Stmt] = [Store((self.parts(p), self.piece), p) for p in self.centres.values()]
        body = [*self._estimates(), *self._piece(), *stores]
        sums = [stmt for task in self.seconds for stmt in self._sum(task)]
        return [self.each(body, independent=True), *self._joined(self.firsts), *sums]

    def _estimates(self) -> list[Stmt]:
        """Return the sums of the sample, and what the late values would be if all elements were like it."""
        sums: dict[Node, Node] = {}
        body: list[Stmt] = []
        starts: list[Stmt] = []
        for total, task in self.totals.items():
            if not any(total in walk([c]) for c in self.centres):
                continue
            assert total.dtype is not None
            near = local(f"{task.name}_near", total.dtype)
            share = literal(spelled(self.share, total.dtype), total.dtype)
            sums[total] = apply("{0} * {1}", (near, share), total.dtype)
            starts.append(Declare(near, start_of(near, "sum")))
            body.append(Combine(near, "sum", self.samples[total]))
        inner = self.stages[0].inner[1:]
        for k, a in enumerate([*reversed(inner), self.sampled]):
            body = [For(a, number(0), number(a.args[1]), body, simd=k == 0)]
        late = rewrite(list(self.centres), sums, rebuild)
        return [*starts, *body, *(Declare(p, c, fixed=True) for p, c in zip(self.centres.values(), late, strict=True))]

    def _sum(self, task: Task) -> list[Stmt]:
        """Return what makes a sum of its parts, when the late values are known."""
        (x, op, _), = folds(task)
        assert x.dtype is not None
        value: Node | None = None
        for fold, factor, errors in self.moments[task]:
            term = self._count(x.dtype) if fold is None else self.part(variable(fold))
            for c in errors:
                term = apply("{0} * {1}", (apply("{0} - {1}", (c, self.part(self.centres[c])), x.dtype), term), x.dtype)
            if abs(factor) != 1:
                term = apply("{0} * {1}", (literal(spelled(abs(factor), x.dtype), x.dtype), term), x.dtype)
            value = term if value is None else apply("{0} - {1}" if factor < 0 else "{0} + {1}", (value, term), x.dtype)
        assert value is not None
        return [Declare(x, start_of(x, op)), self.each([Combine(x, op, value)], simd=True), *self._finish(task)]

    def _count(self, dtype: DType) -> Node:
        """Return how many elements a piece has."""
        rest = math.prod(a.args[1] for a in self.stages[0].inner[1:])
        return as_element(linear(0, [(self.end, rest)]), dtype)
