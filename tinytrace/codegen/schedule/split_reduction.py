"""Long folds in chunks, which several threads fold into partial results; then these are folded.

    for chunk: { s = 0; for i simd: s += x[chunk, i]; s_partials[chunk] = s }   s = 0; for chunk: s += s_partials[chunk]

So one more of the outer loops is over chunks, in whatever shape loops are written. Memory is read in the order in which
it lies, and sums of many terms lose fewer digits. How many chunks there are depends on the amount of work, not on the
number of threads; so does the result.

Sums around a total of the same elements, as a variance is one around the mean, are computed in the same pass:

    for chunk: { near = what the total would be if all were like the chunk's first elements;  p = mean(near)
                 for i simd: { d = x[chunk, i] - p;  s += x[chunk, i];  m += d * d;  e += d } }
    s = sum of partials;  c = mean(s);  v = 0; for chunk: { d = c - p;  v += m + d (n d - 2 e) }

The formula is that of `plan.polynomials`. With n elements in a chunk of which k make the estimate, n (mean - p)^2 is at
most n / k times the chunk's own sum of squared differences: at most 16 times what two passes lose is lost, most often
once.
Source: Chan, Golub & LeVeque, "Algorithms for Computing the Sample Variance", The American Statistician 37 (1983).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tinytrace.codegen.ir.arithmetic import flat_offset, linear, minimum, rebuild
from tinytrace.codegen.ir.inserted_operations import add, finite_or_zero, if_finite, mul, nan_unless_finite, sub
from tinytrace.codegen.ir.nodes import Node, apply, axis, literal, load, local, number, rewrite, walk
from tinytrace.codegen.ir.reductions import accumulator_type
from tinytrace.codegen.ir.statements import Buffer, Stmt
from tinytrace.codegen.plan.elements import as_element
from tinytrace.codegen.plan.partition import Root, is_total
from tinytrace.codegen.plan.polynomials import Errors, is_around, late_values, polynomial
from tinytrace.codegen.schedule.tasks import StagePlan, Task, variable
from tinytrace.core.avals import ShapedArray
from tinytrace.core.dtypes import DType
from tinytrace.core.jaxpr import Var
from tinytrace.records import replace

SAMPLE = 16
"""The first of so many equal parts of a chunk makes the estimate."""
EVEN = 16
"""The number of iterations in a chunk is a multiple of this."""

Write = Callable[[list[Node], list[StagePlan]], list[Stmt]]
Term = tuple[Task | None, float, tuple[Node, ...]]
"""A part of a sum: what is folded (None: ones); a factor; the late values whose errors it is multiplied by."""


class SplitReduction:
    """The loops `outer`, `stages` as two: folds of chunks of about `size` iterations of the first loop, and of these.

    The second stage, if there is one, consists of sums around totals of the first.
    """

    def __init__(self, outer: Sequence[Node], stages: Sequence[StagePlan], size: int, depth: int,
                 suffix: str = "") -> None:
        """depth: where among the outer loops that over chunks is.  suffix: ends names, unlike those of other cuts."""
        self.outer = outer
        self.inner = stages[0].inner
        self.depth = depth
        self.suffix = suffix
        self.first = self.inner[0]
        self.extent = int(self.first.args[1])
        size = self.extent // max(1, self.extent // size)
        self.size = size - size % EVEN if size > EVEN else size
        self.count, self.rest = divmod(self.extent, self.size)
        """Full chunks, and what is left for one more."""
        self.chunk = axis(f"{self.first.args[0]}_chunk", self.count + bool(self.rest))
        self.firsts = stages[0].tasks
        self.seconds = [task for stage in stages[1:] for task in stage.tasks]
        self.totals = totals_of(stages[0])
        self.late = dict.fromkeys(c for task in self.seconds for c in late_values(task.value, self.totals) or ())
        self._partials: dict[str, Buffer] = {}

    def statements(self, write_partials: Write, write_whole: Write) -> list[Stmt]:
        """Return the loops; the two functions write those of a plan."""
        name = str(self.first.args[0])
        chunk, inside = axis(str(self.chunk.args[0]), self.count), axis(name, self.size)
        outer = [*self.outer[:self.depth], chunk, *self.outer[self.depth:]]
        body = write_partials(outer, self._chunk(chunk, inside, linear(0, [(chunk, self.size), (inside, 1)]), ""))
        if self.rest:
            inside = axis(name, self.rest)
            place = linear(self.count * self.size, [(inside, 1)])
            rest = self._chunk(number(self.count), inside, place, f"_rest{self.suffix}")
            body += write_partials(list(self.outer), rest)
        return [*body, *write_whole(list(self.outer), self._whole())]

    # --- chunks ------------------------------------------------------------------------------------------------

    def _chunk(self, chunk: Node, inside: Node, place: Node, suffix: str) -> list[StagePlan]:
        """Return the stages that fold one chunk, whose element `inside` is at `place` of the first loop."""
        stages = self._estimates(chunk, inside, place, suffix) if self.seconds else []
        tasks: list[Task] = []
        for task in self.firsts:
            value, *offsets = rewrite([task.value, *(offset for _, offset in task.targets)],
                                      {self.first: place}, rebuild)
            if is_whole(task):
                target = self._partial(task, task.name, chunk)
                tasks.append(replace(task, root=_as_folded(task.root), value=value, targets=[target],
                                     name=f"{task.name}{suffix}", remembered=False))
            else:
                targets = [(buffer, offset) for (buffer, _), offset in zip(task.targets, offsets, strict=True)]
                tasks.append(replace(task, value=value, targets=targets))
        for task in self.seconds:
            for moment, _, _ in self._moments(task, suffix):
                if moment is not None:
                    value, = rewrite([moment.value], {self.first: place}, rebuild)
                    target = self._partial(moment, moment.name, chunk)
                    tasks.append(replace(moment, value=value, targets=[target], name=f"{moment.name}{suffix}"))
        return [*stages, StagePlan([inside, *self.inner[1:]], tasks)]

    def _estimates(self, chunk: Node, inside: Node, place: Node, suffix: str) -> list[StagePlan]:
        """Return the sums of a sample, and what the late values would be if all elements were like it."""
        iterations = max(1, int(inside.args[1]) // SAMPLE)
        sample = axis(f"{self.first.args[0]}_sample", iterations)
        place, = rewrite([place], {inside: sample}, rebuild)
        needed = walk(self.late)
        sums: list[Task] = []
        whole: dict[Node, Node] = {}
        for total, task in self.totals.items():
            if total in needed:
                value, = rewrite([task.value], {self.first: place}, rebuild)
                near = replace(task, value=value, targets=[], name=f"{task.name}_near{suffix}", remembered=True)
                sums.append(near)
                dtype = task.root.var.aval.dtype
                share = literal(self.extent / iterations, dtype)
                whole[total] = apply(mul(dtype), (variable(near), share))
        root = replace(self.seconds[0].root, combine="", reads=[], inputs=set())
        centres = []
        for c, value in zip(self.late, rewrite(list(self.late), whole, rebuild), strict=True):
            assert c.dtype is not None
            value = apply(finite_or_zero(c.dtype), (value,))  # any number is an estimate, infinity is not
            name = str(self._centre(c).args[0])
            task = Task(root, value, [], 0, name, remembered=True)
            centres.append(replace(task, targets=[self._partial(task, name, chunk)], name=f"{name}{suffix}"))
        return [StagePlan([sample, *self.inner[1:]], sums), StagePlan([], centres)]

    def _centre(self, c: Node, suffix: str = "") -> Node:
        """Return the variable that holds the estimate of a late value."""
        k = list(self.late).index(c)
        return local(f"{self.seconds[0].name}_centre" + (f"_{k}" if k else "") + suffix, c.dtype)

    def _moments(self, task: Task, suffix: str = "") -> list[Term]:
        """Return what a sum around late values consists of."""
        expanded = polynomial(task.value, {c: self._centre(c, suffix) for c in self.late})
        assert expanded is not None
        all_terms: Errors = {(): {expanded.known: 1.0}, **expanded.errors}
        parts: list[Term] = []
        for errors, terms in all_terms.items():
            for value, factor in terms.items():
                name = f"{task.name}_moment" + (f"_{len(parts)}" if parts else "")
                fold = None if value is None else replace(task, value=value, name=name, remembered=False)
                parts.append((fold, factor, errors))
        return parts

    # --- the whole ---------------------------------------------------------------------------------------------

    def _whole(self) -> list[StagePlan]:
        """Return the stages that fold what the chunks gave."""
        firsts = [replace(task, value=self._load(task, task.name)) for task in self.firsts if is_whole(task)]
        seconds = [replace(task, value=self._sum(task)) for task in self.seconds]
        return [StagePlan([self.chunk], tasks) for tasks in (firsts, seconds) if tasks]

    def _sum(self, task: Task) -> Node:
        """Return what one chunk adds to a sum, now that the late values are known.

        Where the part without errors overflows, others with another sign do too. Then it is the sum, or, if those of
        lower degree are no numbers either, NaN: their elements were none.
        """
        dtype = task.root.var.aval.dtype
        terms = self._moments(task)
        known = overflown = self._nested(task, terms[:1])
        for moment, *_ in terms[1:]:
            if moment is not None:
                overflown = apply(nan_unless_finite(dtype), (overflown, self._load(moment, moment.name)))
        return apply(if_finite(dtype), (known, self._nested(task, terms), overflown))

    def _nested(self, task: Task, terms: Sequence[Term]) -> Node:
        """Return the sum of `terms` with errors factored out, as m + d (n d - 2 e): so it overflows last."""
        dtype = task.root.var.aval.dtype
        parts = [(factor, self._count(dtype) if moment is None else self._load(moment, moment.name))
                 for moment, factor, errors in terms if not errors]
        for c in dict.fromkeys(errors[0] for *_, errors in terms if errors):
            rest = [(moment, factor, errors[1:]) for moment, factor, errors in terms if c in errors[:1]]
            parts.append((1.0, apply(mul(dtype), (self._error(task, c), self._nested(task, rest)))))
        value: Node | None = None
        for factor, part in parts:
            if factor != 1:
                part = apply(mul(dtype), (literal(factor, dtype), part))
            value = part if value is None else apply(add(dtype), (value, part))
        assert value is not None
        return value

    def _error(self, task: Task, c: Node) -> Node:
        """Return by how much the chunk's estimate of a late value is too small."""
        near = self._load(task, str(self._centre(c).args[0]))
        return apply(sub(task.root.var.aval.dtype), (c, near))

    def _count(self, dtype: DType) -> Node:
        """Return how many elements a chunk has."""
        rest = math.prod(a.args[1] for a in self.inner[1:])
        iterations = minimum(number(self.size), linear(self.extent, [(self.chunk, -self.size)]))
        return as_element(linear(0, [(iterations, rest)]), dtype)

    def _partial(self, task: Task, name: str, chunk: Node) -> tuple[Buffer, Node]:
        """Return where the result of a chunk goes."""
        index = [*self.outer[:self.depth], chunk, *self.outer[self.depth:]]
        partials = self._partials.get(name)
        if partials is None:
            shape = [a.args[1] for a in self.outer]
            shape.insert(self.depth, self.chunk.args[1])
            dtype = accumulator_type(task.root.var.aval.dtype)
            partials = self._partials[name] = Buffer(f"{name}_partials{self.suffix}", tuple(shape), dtype, "workspace",
                                                  task.root.eqns)
        return partials, flat_offset(index, partials.shape)

    def _load(self, task: Task, name: str) -> Node:
        partials, offset = self._partial(task, name, self.chunk)
        return load(partials, offset, partials.dtype)


def is_whole(task: Task) -> bool:
    """Does a task fold all of its stage's inner loops?"""
    return bool(task.root.combine) and not task.depth


def totals_of(stage: StagePlan) -> dict[Node, Task]:
    """Return the sums of all elements among the results of a stage, by their variables."""
    return {variable(task): task for task in stage.tasks if is_whole(task) and is_total(task.root)}


def are_around(stage: StagePlan, first: StagePlan) -> bool:
    """Consists `stage` of sums around totals that `first` computes, in the same loops, and of nothing else of it?"""
    totals = totals_of(first)
    others = {variable(task) for task in first.tasks} - set(totals)
    return stage.inner == first.inner and all(
        is_whole(task) and is_total(task.root) and not others & set(walk([task.value]))
        and is_around(task.value, list(totals)) for task in stage.tasks)


def _as_folded(root: Root) -> Root:
    """Return `root` with the type in which elements are folded as that of its result."""
    aval = root.var.aval
    wide = accumulator_type(aval.dtype)
    return root if wide == aval.dtype else replace(root, var=Var(ShapedArray(aval.shape, wide)), reads=[], inputs=set())
