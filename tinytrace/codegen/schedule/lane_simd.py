"""Loops whose vectorised one is the last outer loop: neighbours are computed side by side, results of folds are rows.

    for block: { s[..] = 0; for i: for lane simd: s[lane] += x[i, block + lane];  for lane simd: y[..] = s[lane] }

For reductions over leading axes, where neighbours in memory belong to different sums, and for products of matrices.
Where data streams by once, rows are long; where it is used again and again, they are so short that the compiler, which
knows their length and unrolls the loops over them, keeps them in registers. What is left of an axis that is no multiple
of the length has rows of its own.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import flat_offset, linear, rebuild, stride_along
from tinytrace.codegen.ir.cost import CALL, steps
from tinytrace.codegen.ir.inserted_operations import add, converted
from tinytrace.codegen.ir.nodes import Node, apply, axis, literal, load, number, rewrite, walk
from tinytrace.codegen.ir.procedures import SHORT_TURNED, turned
from tinytrace.codegen.ir.reductions import accumulator_type, identity, propagating
from tinytrace.codegen.ir.statements import Buffer, Call, Combine, For, Row, Stmt, Store
from tinytrace.codegen.schedule.tasks import StagePlan, Task, computed, variable
from tinytrace.core.dtypes import FLOAT32, FLOAT64, is_complex, is_float, is_half
from tinytrace.records import replace

STREAM_LANES = 512
"""Elements of a long row: enough to stream, few enough for a core's first cache."""
TILE_BYTES = 256
"""Bytes of a short row: four vector registers of the widest kind."""
TILE_ROWS = 4
"""So many rows of that length fit in registers; more are shorter."""
UNROLL = 4
"""Iterations of a loop over a sum's terms that done as one: a long row is then read and written a fourth as often."""
WHOLE = frozenset({8, 16})
SHORT_ROWS = frozenset(range(5, 32)) - WHOLE
"""Rows of so many elements are no whole vectors."""
CROSSWISE, ROWS_CROSSWISE = range(8, 128), 8
"""Elements of a row whose folds `passes/crosswise_folds.py` takes, and rows that are worth it."""
LONGER = 16
"""Elements of a row from which that is better than lanes, where elements are dear to compute or turned in registers."""
ROWS_TOGETHER = 64
"""So many of them are computed together, an element of each by one lane."""
GROUP = 64
"""So many of these are added to a row of their own first: sums of many terms lose fewer digits."""


class LaneSimd:
    """The loops of `stages` inside `outer`, whose last axis becomes lanes."""

    def __init__(self, outer: Sequence[Node], stages: Sequence[StagePlan], around: Sequence[Node] = (),
                 lanes: int = STREAM_LANES, together: bool = False) -> None:
        """Args:
          around: loops that are written around these.
          lanes: the length of a row of what streams by.
          together: is each lane a short row (`are_short_rows`)?
        """
        self.outer = outer
        self.stages = stages
        self.stored = {buffer: None for stage in stages for task in stage.tasks for buffer, _ in task.targets}
        self.held = [buffer for buffer in self.stored if together and buffer.space == "row"]
        """The arrays on the stack in which elements of a row wait for later stages: each lane has its own."""
        self.together = together
        self.tiled = together or uses_again([*around, *outer], stages)
        self.lanes = ROWS_TOGETHER if together else _tile_lanes(stages) if self.tiled else lanes

    def statements(self) -> list[Stmt]:
        last = self.outer[-1]
        name, extent = last.args[0], last.args[1]
        blocks, rest = divmod(extent, self.lanes)
        body: list[Stmt] = []
        if blocks:
            lane = axis("lane", self.lanes)
            block = axis(name, blocks) if blocks > 1 or rest else number(0)
            inside = self._code(lane, linear(0, [(block, self.lanes), (lane, 1)]))
            body += [For(block, number(0), number(blocks), inside, independent=True)] if block.op == "axis" else inside
        if rest:
            lane = axis("lane", rest)
            body += self._code(lane, linear(blocks * self.lanes, [(lane, 1)]))
        for a in reversed(self.outer[:-1]):
            body = [For(a, number(0), number(a.args[1]), body, independent=True)]
        return body

    def _code(self, lane: Node, position: Node) -> list[Stmt]:
        """Return the stages, with `position` in the place of the last outer axis."""
        rows = {task: Buffer(f"{task.name}_row", (lane.args[1],), accumulator_type(task.root.var.aval.dtype), "row",
                             task.root.eqns)
                for stage in self.stages for task in stage.tasks
                if task.root.combine or (task.remembered and not task.depth)}
        wide = {buffer: replace(buffer, shape=(*buffer.shape, lane.args[1])) for buffer in self.held}

        def of_lane(buffer: Buffer, offset: Node) -> tuple[Buffer, Node]:
            if buffer not in wide:
                return buffer, offset
            return wide[buffer], linear(0, [(offset, lane.args[1]), (lane, 1)])

        changed = {self.outer[-1]: position} | {variable(task): _value(task, row, lane) for task, row in rows.items()}
        for node in walk(computed(self.stages)) if wide else ():
            if node.op == "load" and node.args[0] in wide:
                changed[node] = load(*of_lane(*node.args[:2]), node.dtype)  # type: ignore[arg-type]
        body: list[Stmt] = [Row(buffer) for buffer in wide.values()]
        body += self._transposed(lane, changed) if self.together else []
        for stage in self.stages:
            tasks = []
            for task in stage.tasks:
                value, *offsets = rewrite([task.value, *(offset for _, offset in task.targets)], changed, rebuild)
                targets = [of_lane(buffer, offset) for (buffer, _), offset in zip(task.targets, offsets, strict=True)]
                tasks.append((replace(task, value=value, targets=targets), rows.get(task)))
            once, tasks = _once_a_row(tasks, stage.inner, lane, len(body))
            body += [*once, *_Lanes(lane, tasks, self.tiled).loops(stage.inner, 0)]
        return body

    def _transposed(self, lane: Node, changed: dict[Node, Node]) -> list[Stmt]:
        """Return what copies the elements of short rows, so that lanes are neighbours.

        A vector would take its elements from rows that lie apart, one by one: those of four bytes are turned in
        registers, others copied if several stages read them. What no stage reads for certain may lie outside of its
        array, as the edge of a window does.
        """
        certain = {node for stage in self.stages for node in walk(computed([stage]), certain=True)}
        readers = Counter(node for stage in self.stages for node in walk(computed([stage]))
                          if node.op == "load" and node.args[0] not in self.stored
                          and {self.outer[-1], *stage.inner} <= node.axes
                          and stride_along(node.args[1], self.outer[-1]) != 1)
        body: list[Stmt] = []
        for node, count in readers.items():
            assert node.dtype is not None
            inner = next(stage.inner for stage in self.stages if node in walk(computed([stage])))
            in_registers = are_turned(node, self.outer[-1], inner)
            if node not in certain or not (count > 1 or in_registers):
                continue
            sizes = [a.args[1] for a in inner]
            row = Buffer(f"{node.args[0].name}_lanes{len(body) // 2 or ''}", (*sizes, lane.args[1]), node.dtype, "row")
            place = flat_offset([*inner, lane], row.shape)
            moved, = rewrite([node], changed, rebuild)
            if in_registers:
                first, = rewrite([moved.args[1]], {lane: number(0), inner[0]: number(0)}, rebuild)
                procedure = turned(32, lane.args[1], sizes[0], stride_along(moved.args[1], lane) or 0, lane.args[1])
                body += [Row(row), Call(procedure, {"to": (row, number(0)), "from": (node.args[0], first)}, ("to",))]
            else:
                copy: list[Stmt] = [For(lane, number(0), number(lane.args[1]), [Store((row, place), moved)], simd=True)]
                for a in reversed(inner):
                    copy = [For(a, number(0), number(a.args[1]), copy)]
                body += [Row(row), *copy]
            changed[node] = load(row, place, row.dtype)
        return body


def are_turned(node: Node, outer: Node, inner: Sequence[Node]) -> bool:
    """Do rows of elements of four bytes lie in memory, from which lanes take one each?"""
    return node.dtype is not None and node.dtype.itemsize == 4 \
        and len(inner) == 1 and inner[0].args[1] in SHORT_TURNED \
        and stride_along(node.args[1], inner[0]) == 1 and bool(stride_along(node.args[1], outer))


def _once_a_row(tasks: list[tuple[Task, Buffer | None]], inner: Sequence[Node], lane: Node, number_of: int) -> \
        tuple[list[Stmt], list[tuple[Task, Buffer | None]]]:
    """Return what computes what is dear and the same for all elements of a row, and the tasks that read it.

    The logarithm of the sum in `log_softmax`: a compiler does not know that the stores leave rows as they are.
    """
    found: list[Node] = []
    inside: set[Node] = set()
    for node in reversed(walk(task.value for task, _ in tasks)):  # what contains others comes before them
        if node not in inside and _is_dear_for_a_row(node, inner, lane):
            found.append(node)
            inside.update(walk([node]))
    if not found or math.prod(a.args[1] for a in inner) == 1:
        return [], tasks
    rows = {node: Buffer(f"{node.hint or 'value'}_once{number_of + k}", (lane.args[1],), node.dtype, "row", node.eqns)
            for k, node in enumerate(found) if node.dtype is not None}
    body: list[Stmt] = [Store((row, lane), node) for node, row in rows.items()]
    known = {node: load(row, lane, row.dtype) for node, row in rows.items()}
    return ([*map(Row, rows.values()), For(lane, number(0), number(lane.args[1]), body, simd=True)],
            [(replace(task, value=rewrite([task.value], known, rebuild)[0]), row) for task, row in tasks])


def _is_dear_for_a_row(node: Node, inner: Sequence[Node], lane: Node) -> bool:
    return node.op == "apply" and steps(node.args[0]) >= CALL and node.dtype in (FLOAT32, FLOAT64) \
        and lane in node.axes and node.axes.isdisjoint(inner) \
        and all(x.args[0].space == "row" for x in walk([node]) if x.op == "load")


def _value(task: Task, row: Buffer, lane: Node) -> Node:
    """Return the result of a task as its readers see it."""
    return converted(load(row, lane, row.dtype), task.root.var.aval.dtype)


class _Lanes:
    """One stage for one set of lanes; each task comes with the row that its result is in."""

    def __init__(self, lane: Node, tasks: Sequence[tuple[Task, Buffer | None]], tiled: bool) -> None:
        self.lane = lane
        self.tasks = tasks
        self.tiled = tiled

    def loops(self, inner: Sequence[Node], depth: int) -> list[Stmt]:
        """Return the loops over `inner[depth:]`, with the rows that begin here."""
        before: list[Stmt] = []
        starts: list[Stmt] = []
        ends: list[Stmt] = []
        for task, row in self.tasks:
            if row is not None and (task.depth == depth if task.root.combine else depth == len(inner)):
                before.append(Row(row))
            if row is not None and task.root.combine and task.depth == depth:
                op = propagating(task.root.combine, row.dtype)
                starts.append(Store((row, self.lane), literal(identity(op, row.dtype), row.dtype)))
                if not task.root.running:
                    ends += [Store(target, _value(task, row, self.lane), task.root.eqns) for target in task.targets]
        if depth == len(inner):
            inside = self._over([stmt for task, row in self.tasks for stmt in self._leaf(task, row)])
        elif depth == len(inner) - 1 and self._sums_stream(inner[depth]):
            inside = self._in_strides(inner[depth])
        else:
            a = inner[depth]
            inside = [For(a, number(0), number(a.args[1]), self.loops(inner, depth + 1))]
        return [*before, *self._over(starts), *inside, *self._over(ends)]

    def _over(self, body: list[Stmt]) -> list[Stmt]:
        return [For(self.lane, number(0), number(self.lane.args[1]), body, simd=True)] if body else []

    def _leaf(self, task: Task, row: Buffer | None) -> list[Stmt]:
        if row is None or not task.root.combine:
            places = [*([(row, self.lane)] if row is not None else []), *task.targets]
            return [Store(place, task.value, task.root.eqns) for place in places]
        stmts: list[Stmt] = [Combine((row, self.lane), propagating(task.root.combine, row.dtype), task.value)]
        if task.root.running:
            stmts += [Store(target, _value(task, row, self.lane), task.root.eqns) for target in task.targets]
        return stmts

    # --- several iterations at once -----------------------------------------------------------------------------------

    def _sums_stream(self, a: Node) -> bool:
        """Does the loop over `a` do nothing but add to long rows?"""
        return not self.tiled and a.args[1] >= 2 * UNROLL and all(
            task.root.combine == "sum" and not task.root.running and is_float(task.root.var.aval.dtype)
            for task, _ in self.tasks)

    def _in_strides(self, a: Node) -> list[Stmt]:
        """Return the innermost loop of sums, `UNROLL` iterations as one: the row is read and written once for all."""
        strides, rest = divmod(a.args[1], UNROLL)
        groups = strides // GROUP
        if groups > 1:
            loops, begin = [self._in_groups(a, groups)], groups * GROUP
        else:
            loops, begin = [], 0
        if begin < strides:
            stride = axis(a.args[0], strides)
            iterations: list[Node] = [linear(k, [(stride, UNROLL)]) for k in range(UNROLL)]
            loops.append(For(stride, number(begin), number(strides), self._sums(a, iterations)))
        for k in range(a.args[1] - rest, a.args[1]):
            loops += self._sums(a, [number(k)])
        return loops

    def _in_groups(self, a: Node, groups: int) -> Stmt:
        """Return the loop over groups of strides, each summed in rows of its own before these are added."""
        group, stride = axis(a.args[0], groups), axis(f"{a.args[0]}_stride", GROUP)
        iterations: list[Node] = [linear(k, [(group, GROUP * UNROLL), (stride, UNROLL)]) for k in range(UNROLL)]
        parts: list[tuple[Task, Buffer]] = []
        starts: list[Stmt] = []
        ends: list[Stmt] = []
        for task, row in self.tasks:
            assert row is not None
            part = replace(row, name=f"{row.name}_part")
            parts.append((task, part))
            starts.append(Store((part, self.lane), literal(identity("sum", part.dtype), part.dtype)))
            ends.append(Combine((row, self.lane), "sum", load(part, self.lane, part.dtype)))
        inside = For(stride, number(0), number(GROUP), _Lanes(self.lane, parts, self.tiled)._sums(a, iterations))
        rows: list[Stmt] = [Row(part) for _, part in parts]
        return For(group, number(0), number(groups), [*rows, *self._over(starts), inside, *self._over(ends)])

    def _sums(self, a: Node, iterations: Sequence[Node]) -> list[Stmt]:
        """Return the statement that adds the elements of several iterations to each row."""
        body: list[Stmt] = []
        for task, row in self.tasks:
            assert row is not None
            parts = [rewrite([task.value], {a: iteration}, rebuild)[0] for iteration in iterations]
            while len(parts) > 1:  # pairs of pairs: fewer additions wait for each other
                parts = [apply(add(row.dtype), (x, y)) for x, y in zip(parts[::2], parts[1::2], strict=True)]
            body.append(Combine((row, self.lane), "sum", parts[0]))
        return self._over(body)


def are_short_rows(outer: Sequence[Node], stages: Sequence[StagePlan]) -> bool:
    """Are rows short, and so many that lanes are better given a row each?

    Of a row of ten a vector of eight takes most, and two elements come one by one, as does what is computed once a row.
    Where that is no more than a sum, to read across rows would take longer, but for rows that are turned in registers:
    short ones, and those of whole vectors. Rows of up to four elements have a pass.
    Compilers make no vectors of complex numbers that lie apart.
    """
    sizes = [math.prod(a.args[1] for a in stage.inner) for stage in stages]
    if not outer or outer[-1].args[1] < ROWS_TOGETHER or max(sizes) not in SHORT_ROWS | WHOLE:
        return False
    tasks = [task for stage in stages for task in stage.tasks]
    if any(is_complex(node.dtype) for node in walk(computed(stages)) if node.op == "load" and node.dtype is not None):
        return False
    dear = any(node.op == "apply" and steps(node.args[0]) >= CALL and not node.axes.isdisjoint(stage.inner)
               and any(x.op == "load" or x.op == "local" or x in outer for x in walk([node]))
               for stage in stages for node in walk(task.value for task in stage.tasks))
    of_rows = [(node, stage) for stage in stages for node in walk(computed([stage]))
               if node.op == "load" and node.args[0].space != "row" and not node.axes.isdisjoint(stage.inner)]
    in_registers = bool(of_rows) and any(task.root.combine for task in tasks) and all(
        are_turned(node, outer[-1], stage.inner) for node, stage in of_rows)
    if max(sizes) in WHOLE and (dear or not in_registers):
        return False
    is_shorter, only_folds = max(sizes) < LONGER, all(task.root.combine or not stage.inner
                                                      for stage in stages for task in stage.tasks)
    if are_crosswise(outer, stages) and not (is_shorter and (dear or (in_registers and only_folds))):
        return False
    return not any(task.root.running for task in tasks) and (
        dear or (in_registers and is_shorter) or any(task.root.combine not in ("", "sum") for task in tasks))


def are_crosswise(outer: Sequence[Node], stages: Sequence[StagePlan]) -> bool:
    """Are rows short, and folds sums and extremes of floats, so that a pass has loops for them?"""
    tasks = [task for stage in stages for task in stage.tasks]
    lengths = {a.args[1] for stage in stages for a in stage.inner}
    return bool(outer) and outer[-1].args[1] >= ROWS_CROSSWISE and bool(lengths) \
        and all(len(stage.inner) <= 1 for stage in stages) and all(length in CROSSWISE for length in lengths) \
        and any(task.root.combine for task in tasks) and all(
            not task.root.running and (not task.root.combine or (
                task.root.combine in ("sum", "max", "min") and not task.depth and task.value.dtype == FLOAT32))
            for task in tasks) and not any(
            node.dtype is not None and (is_complex(node.dtype) or is_half(node.dtype))
            for node in walk(computed(stages)))


def uses_again(outer: Sequence[Node], stages: Sequence[StagePlan]) -> bool:
    """Is every element that the inner loops read needed several times, or at hand in a core's first cache?"""
    inner = max(math.prod(a.args[1] for a in stage.inner) for stage in stages)
    iterations = math.prod(a.args[1] for a in outer) * inner
    arrays = {node.args[0] for stage in stages for node in walk(computed([stage]))
              if node.op == "load" and node.axes & set(stage.inner)}
    size, nbytes = sum(array.size for array in arrays), sum(array.nbytes for array in arrays)
    return bool(iterations >= 4 * size or nbytes <= 32 * 1024)


def _tile_lanes(stages: Sequence[StagePlan]) -> int:
    """Return how long rows are that stay in registers."""
    results = [task.root.var.aval.dtype for stage in stages for task in stage.tasks if task.root.combine]
    size = max((int(accumulator_type(dtype).itemsize) for dtype in results), default=4)
    lanes = TILE_BYTES // size
    while len(results) * lanes * size > TILE_ROWS * TILE_BYTES and lanes * size > 64:
        lanes //= 2
    return lanes
