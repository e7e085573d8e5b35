"""A loop around elementwise kernels is interchanged with them: all iterations of one point, its state in registers.

    for k: for i simd: z[i] = f(z[i])    becomes    for block: { load z; for k: for lane: z = f(z); store z }

That holds when the body of the loop is kernels over equally many points, in which what the body writes is read and
written at the point alone, and scalars that depend on nothing that the body writes but scalars; and when nobody reads
what it leaves in scalars. What one kernel leaves for the next is a row, as the carries are.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tinytrace.codegen.ir.arithmetic import flat_offset, linear, rebuild, unflattened
from tinytrace.codegen.ir.kernel import Exchange, Kernel, Nest, Repeat, inner_programs, with_equations_in, with_programs
from tinytrace.codegen.ir.nodes import Node, axis, load, number, rewrite, walk
from tinytrace.codegen.ir.programs import mentions
from tinytrace.codegen.ir.rewriting import Replacement
from tinytrace.codegen.ir.statements import Buffer, Declare, For, Row, Stmt, Store, expressions, nested
from tinytrace.codegen.passes.in_place import update_carries_in_place
from tinytrace.codegen.passes.index_set_splitting import split_at_guards
from tinytrace.codegen.schedule.lane_simd import TILE_BYTES, TILE_ROWS
from tinytrace.records import dataclass

FEWEST_ITERATIONS = 4
"""Shorter loops are left as they are."""


def interchange_loops(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return a program whose counted loops around elementwise kernels are loops over points, where that can be."""
    return _program(kernels, Counter(mentions(kernels))) if _has_loops(kernels) else list(kernels)


def _has_loops(kernels: Iterable[Kernel]) -> bool:
    return any(isinstance(kernel, Repeat) or any(map(_has_loops, inner_programs(kernel))) for kernel in kernels)


def _program(kernels: Sequence[Kernel], uses: Counter[Buffer | Node]) -> list[Kernel]:
    """Return a program; uses: how often each array and variable is used in all of the program around it."""
    result: list[Kernel] = []
    for kernel in kernels:
        changed = with_programs(kernel, [_program(program, uses) for program in inner_programs(kernel)])
        result.append(changed)
        if changed is not kernel:
            result = update_carries_in_place(result)  # a loop inside may be loops over elements now
        last = result[-1]
        if isinstance(last, Repeat):
            elsewhere = uses - Counter(mentions([kernel]))
            result = _interchanged(result[:-1], last, elsewhere) or result
    return result


def _interchanged(before: list[Kernel], repeat: Repeat, elsewhere: Counter[Buffer | Node]) -> list[Kernel] | None:
    """Return the kernels `before` a loop, without those that give it its first values, and the loops over points."""
    pieces = _loops_inside(repeat)
    if pieces is None:
        return None
    own: list[Buffer | Node] = [*repeat.variables, *_temporaries(repeat, pieces[1])]
    if any(elsewhere[x] for x in own):
        return None
    beginning = _beginning(before, repeat)
    if beginning is None:
        return None
    kept, scalars, stores = beginning
    made = Counter(mentions(stores.values()))
    needed = [pair for pair in repeat.exchanges
              if pair.result.space != "workspace" or elsewhere[pair.result] > made[pair.result]]
    loops = _Interchange(repeat, scalars, stores, needed, *pieces).statements()
    inside = [eqn for kernel in repeat.body for eqn in kernel.equations]
    carried = sum(pair.result.nbytes for pair in repeat.exchanges)
    eqns = repeat.eqns.union(*(kernel.eqns for kernel in repeat.body))
    nest = Nest([*repeat.equations, *inside], eqns, loops, saved=repeat.saved + 2 * (repeat.length - 1) * carried)
    rows = [*(pair.before for pair in repeat.exchanges), *_temporaries(repeat, pieces[1])]
    return [*kept, with_equations_in(nest, {buffer.name: _row_name(buffer) for buffer in rows}
                                     | {view.buffer.name: view.base.name for view in repeat.views})]


def _beginning(before: Sequence[Kernel], repeat: Repeat) \
        -> tuple[list[Kernel], list[Declare], dict[Buffer, Nest]] | None:
    """Return the kernels before a loop in three parts: others, first values of its scalars, and of each array."""
    wanted = {pair.first for pair in repeat.exchanges}
    variables = set(repeat.variables)
    kept: list[Kernel] = []
    scalars: list[Declare] = []
    stores: dict[Buffer, Nest] = {}
    k = len(before)
    while k and (variables or wanted):
        kernel = before[k - 1]
        if not isinstance(kernel, Nest) or kernel.equations:
            return None
        declared = [stmt for stmt in kernel.body if isinstance(stmt, Declare) and stmt.local in variables]
        if declared and len(declared) == len(kernel.body):
            scalars = declared + scalars
            variables -= {stmt.local for stmt in declared}
        elif len(kernel.writes) == 1 and kernel.writes[0] in wanted and _stored(kernel) is not None:
            stores[kernel.writes[0]] = kernel
            wanted.discard(kernel.writes[0])
        else:
            kept.insert(0, kernel)
        k -= 1
    read = {buffer for kernel in stores.values() for buffer in kernel.accesses[0]}
    if variables or wanted or any(read & kernel.accesses[1].keys() for kernel in kept):
        return None
    return [*before[:k], *kept], scalars, stores


def _stored(kernel: Nest) -> tuple[Node, list[Node]] | None:
    """Return what a kernel stores, one element after the other, and the axes of its loops; None: it does not."""
    axes: list[Node] = []
    body = kernel.body
    while len(body) == 1 and isinstance(body[0], For):
        axes.append(body[0].axis)
        body = body[0].body
    stmt = body[0] if len(body) == 1 else None
    if not isinstance(stmt, Store) or isinstance(stmt.place, Node):
        return None
    return (stmt.value, axes) if stmt.place[1] is flat_offset(axes, [a.args[1] for a in axes]) else None


def _loops_inside(repeat: Repeat) -> tuple[list[Stmt], list[For], list[Stmt]] | None:
    """Return (scalar statements, the loops over points, more scalar statements), if that is what the body is."""
    if repeat.iteration is None or repeat.length < FEWEST_ITERATIONS or not repeat.exchanges \
            or any(pair.before is not pair.after for pair in repeat.exchanges):
        return None
    stmts: list[Stmt] = []
    for kernel in repeat.body:
        if not isinstance(kernel, Nest):
            return None
        stmts += split_at_guards(kernel.body)
    places = [k for k, stmt in enumerate(stmts) if isinstance(stmt, For)]
    if not places:
        return None
    before, after = stmts[:places[0]], stmts[places[-1] + 1:]
    loops = [stmt for stmt in stmts[places[0]:places[-1] + 1] if isinstance(stmt, For)]
    written = {pair.before for pair in repeat.exchanges} | set(_temporaries(repeat, loops))
    fits = len(before) + len(loops) + len(after) == len(stmts) and len({loop.axis.args[1] for loop in loops}) == 1 \
        and all(_is_over_points(loop, written) for loop in loops) \
        and all(_is_scalar(stmt, written) for stmt in (*before, *after))
    return (before, loops, after) if fits else None


def _temporaries(repeat: Repeat, loops: Sequence[For]) -> list[Buffer]:
    """Return the arrays that the loops write, but for carries and for slices of results."""
    known = {pair.before for pair in repeat.exchanges} | {view.buffer for view in repeat.views}
    stores = [stmt for loop in loops for stmt in loop.body if isinstance(stmt, Store)]
    return list(dict.fromkeys(stmt.place[0] for stmt in stores
                              if not isinstance(stmt.place, Node) and stmt.place[0] not in known))


def _is_over_points(loop: For, written: set[Buffer]) -> bool:
    """Does a loop store something, and all of it at its own point?"""
    declared = {stmt.local for stmt in loop.body if isinstance(stmt, Declare)}
    return loop.simd and loop.independent and len(declared) < len(loop.body) \
        and all(_is_pointwise(stmt, loop.axis, written) for stmt in loop.body)


def _is_pointwise(stmt: Stmt, point: Node, written: set[Buffer]) -> bool:
    """Does a statement store one element (or name one), and read what the loops write at its own point only?"""
    if isinstance(stmt, Store):
        if isinstance(stmt.place, Node) or stmt.place[1] is not point:
            return False
    elif not isinstance(stmt, Declare):
        return False
    return all(node.args[1] is point for node in walk([stmt.value]) if node.op == "load" and node.args[0] in written)


def _is_scalar(stmt: Stmt, written: set[Buffer]) -> bool:
    """Is a statement about variables, and arrays that the loops do not write?"""
    plain = isinstance(stmt, Declare) or (isinstance(stmt, Store) and isinstance(stmt.place, Node))
    return plain and not any(node.op == "load" and node.args[0] in written for node in walk(expressions(stmt)))


@dataclass
class _Interchange:
    """The parts of a loop from which the other is made."""

    repeat: Repeat
    scalars: Sequence[Declare]
    stores: dict[Buffer, Nest]
    """What gives each array its first values."""
    needed: Sequence[Exchange]
    """The carries whose last values are read."""
    before: list[Stmt]
    loops: list[For]
    after: list[Stmt]

    def kept(self) -> list[Buffer]:
        """Return the arrays of which a block has a row: what the loops write."""
        return [*(pair.before for pair in self.repeat.exchanges), *_temporaries(self.repeat, self.loops)]

    def statements(self) -> list[Stmt]:
        extent, kept = int(self.loops[0].axis.args[1]), self.kept()
        size = max(buffer.dtype.itemsize for buffer in kept)
        lanes = max(TILE_BYTES // size // (1 if len(kept) <= TILE_ROWS else 2), 64 // size)
        blocks, rest = divmod(extent, lanes)
        body: list[Stmt] = []
        if blocks:
            lane, block = axis("lane", lanes), axis("block", blocks)
            inside = self._points(lane, linear(0, [(block, lanes), (lane, 1)]))
            body.append(For(block, number(0), number(blocks), inside, independent=True))
        if rest:  # a block of one iteration, for the scope of its variables
            lane, block = axis("lane", rest), axis("block", 1)
            inside = self._points(lane, linear(blocks * lanes, [(lane, 1)]))
            body.append(For(block, number(0), number(1), inside))
        return body

    def _points(self, lane: Node, position: Node) -> list[Stmt]:
        """Return all iterations for the points of one block."""
        repeat = self.repeat
        assert repeat.iteration is not None
        count = axis(str(repeat.iteration.args[0]), repeat.length)
        iteration = linear(repeat.length - 1, [(count, -1)]) if repeat.reverse else count
        rows = {old: Buffer(_row_name(old), (lane.args[1],), old.dtype, "row") for old in self.kept()}
        places = {old: (row, lane) for old, row in rows.items()}
        here = {loop.axis: position for loop in self.loops} | {repeat.iteration: iteration}
        changed = dict(here)
        for old, row in rows.items():
            changed |= {load(old, loop.axis, old.dtype): load(row, lane, row.dtype) for loop in self.loops}
        for read in self._reads_of_views():
            view = next(view for view in repeat.views if view.buffer is read.args[0])
            offset, = rewrite([read.args[1]], here, rebuild)
            changed[read] = load(view.base, linear(0, [(iteration, view.step), (offset, 1)]), view.base.dtype)
        places |= {view.buffer: (view.base, linear(0, [(iteration, view.step), (position, 1)]))
                   for view in repeat.views}

        replacement = Replacement(changed)
        inner: list[Stmt] = []
        for loop in self.loops:
            stmts: list[Stmt] = []
            for was, stmt in zip(loop.body, replacement.of(loop.body), strict=True):
                if isinstance(was, Store) and isinstance(stmt, Store) and not isinstance(was.place, Node):
                    stmt = Store(places[was.place[0]], stmt.value, stmt.eqns)
                stmts.append(stmt)
            inner.append(_over(lane, stmts))
        iterations = [*replacement.of(self.before), *inner, *replacement.of(self.after)]
        first: list[Stmt] = [Store((rows[pair.before], lane), self._first(pair, position)) for pair in repeat.exchanges]
        last: list[Stmt] = [Store((pair.result, position), load(rows[pair.before], lane, pair.before.dtype))
                            for pair in repeat.exchanges if pair in self.needed]
        return [*(Row(row) for row in rows.values()), _over(lane, first), *self.scalars,
                For(count, number(0), number(repeat.length), iterations), _over(lane, last)]

    def _first(self, pair: Exchange, position: Node) -> Node:
        """Return the first value of a carry at one point."""
        stored = _stored(self.stores[pair.first])
        assert stored is not None
        value, axes = stored
        index = unflattened(position, [a.args[1] for a in axes])
        return rewrite([value], dict(zip(axes, index, strict=True)), rebuild)[0]

    def _reads_of_views(self) -> list[Node]:
        """Return every load of a slice that moves from iteration to iteration."""
        moving = {view.buffer for view in self.repeat.views}
        body = [stmt for loop in self.loops for stmt in loop.body]
        roots = [root for stmt in nested([*self.before, *body, *self.after]) for root in expressions(stmt)]
        return [node for node in walk(roots) if node.op == "load" and node.args[0] in moving]


def _row_name(buffer: Buffer) -> str:
    return f"{buffer.name}_row"


def _over(lane: Node, body: Sequence[Stmt]) -> For:
    return For(lane, number(0), number(lane.args[1]), list(body), simd=True)
