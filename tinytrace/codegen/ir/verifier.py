"""Is this a well-formed list of kernels? Asked after every pass, in tests and by `lower(debug=True)`.

    scoping   an axis is used inside its loop, whose name no loop around it has, a variable or row after its declaration
    types     an element goes where elements of its type are; operations get operands of their types
    loops     a loop stays in the range of its axis; of a vectorised or independent one, no iteration changes a variable
              of another (but a vectorised one may fold into it), or stores where another stores or reads
    order     no expression has to be evaluated again because the same body has changed what it reads
    bounds    an offset lies inside its array

Bounds are proven by ranges, and that iterations do not meet by strides. What these do not tell is a claim that `verify`
returns: it may hold because of the conditions around it. Tests ask a solver then, which must prove every one.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tinytrace.codegen.ir.claims import Access, Claim, Meeting
from tinytrace.codegen.ir.evaluation import KernelError
from tinytrace.codegen.ir.independence import shared_by_iterations
from tinytrace.codegen.ir.kernel import Choose, Kernel, Nest, Repeat
from tinytrace.codegen.ir.nodes import Node, number, walk
from tinytrace.codegen.ir.reductions import accumulator_type
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
    When,
    expressions,
    nested,
    written,
)


def verify(kernels: Sequence[Kernel]) -> list[Claim]:
    """Return the claims that ranges do not prove; raises KernelError when `kernels` are not well formed."""
    scope = _Scope(set(), set())
    scope.program(kernels)
    return list(scope.found)


def accesses(kernels: Sequence[Kernel]) -> int:
    """Return how many different loads and stores there are to be proven."""
    scope = _Scope(set(), set())
    scope.program(kernels)
    return len({access for access, _ in scope.seen})


class _Scope:
    """What exists at one point of a program: loop axes whose loops are open, variables and rows."""

    def __init__(self, axes: set[Node], made: set[object]) -> None:
        self.axes = axes
        self.made = made
        self.conditions: tuple[tuple[Node, bool], ...] = ()
        self.loops: tuple[tuple[Node, Node, Node], ...] = ()
        self.found: dict[Claim, None] = {}
        self.seen: list[tuple[Access, bool]] = []
        """Every access, and whether it is a store: those of a loop's body are the last ones when the body ends."""

    def inner(self, axis: Node | None = None, begin: Node | None = None, end: Node | None = None,
              guard: Node | None = None, shared: bool = False) -> _Scope:
        """Return the scope of a block; `shared`: what is made in it is known after it."""
        scope = _Scope(self.axes | {axis} if axis else self.axes, self.made if shared else set(self.made))
        scope.found, scope.seen = self.found, self.seen
        scope.conditions = self.conditions + (((guard, True),) if guard is not None else ())
        scope.loops = self.loops + (((axis, begin, end),) if axis and begin and end else ())
        return scope

    # --- programs ----------------------------------------------------------------------------------------------

    def program(self, kernels: Sequence[Kernel]) -> None:
        for kernel in kernels:
            match kernel:
                case Nest(body=body):
                    self.body(body)
                case Repeat():
                    self._repeat(kernel)
                case Choose(index=Node() as index, branches=branches):
                    self.expression(index)
                    for branch in branches:
                        self.inner().program(branch)

    def _repeat(self, loop: Repeat) -> None:
        count = loop.iteration
        scope = self.inner(count, number(0), number(loop.length)) if count is not None else self.inner()
        if count is not None:
            scope.made.add(count)
        for variable in loop.variables:
            if variable not in self.made:
                raise KernelError(f"{variable} is carried before it is declared")
        for pair in loop.exchanges:
            if len({(b.nbytes, b.dtype) for b in (pair.before, pair.after, pair.first, pair.second)}) > 1:
                raise KernelError(f"{pair.before} and {pair.first} are exchanged and differ")
        for view in loop.views:
            if loop.length * view.step > view.base.size or view.buffer.size > view.step:
                raise KernelError(f"{view.buffer} leaves {view.base}")
        if loop.grain:
            _check_independence(loop)
            scope.made.update(loop.private)
        scope.program(loop.condition)
        if loop.wanted is not None:
            scope.expression(loop.wanted)
        scope.program(loop.body)

    # --- statements --------------------------------------------------------------------------------------------

    def body(self, body: Sequence[Stmt]) -> None:
        _check_order(body)
        for stmt in body:
            for node in expressions(stmt):
                self.expression(node)
            for place in written(stmt):
                self.place(place)
            match stmt:
                case Store() | Combine():
                    _check_type(stmt)
                case Declare(local):
                    self.made.add(local)
                case Row(buffer):
                    self.made.add(buffer)
                case Call():
                    self._call(stmt)
                case For():
                    self._loop(stmt)
                case Either(_, first, second):
                    self.inner().body(first)
                    self.inner().body(second)
                case When(guard, inside):
                    self.inner(guard=guard).body(inside)

    def _call(self, call: Call) -> None:
        for place in call.places.values():
            if not isinstance(place, Node):
                self.array(place[0])
                self.access(place[0], place[1], 0 if place[0].size else 1)
        if call.then is not None:
            self.body([call.then])

    def _loop(self, loop: For) -> None:
        if not (loop.axis.low <= loop.begin.low and loop.end.high <= loop.axis.high + 1):
            raise KernelError(f"a loop over {loop.axis} runs from {loop.begin} to {loop.end}")
        if loop.axis.args[0] in {axis.args[0] for axis in self.axes if axis.op == "axis"}:
            raise KernelError(f"a loop over {loop.axis} has the name of a loop around it")
        before = len(self.seen)
        self.inner(loop.axis, loop.begin, loop.end).body(loop.body)
        if loop.simd or loop.independent:
            _check_variables(loop)
            self.found.update(dict.fromkeys(_meetings(loop, self.seen[before:])))

    # --- expressions and places --------------------------------------------------------------------------------

    def expression(self, root: Node) -> None:
        if not root.axes <= self.axes:
            raise KernelError(f"{root} uses {root.axes - self.axes} outside of its loop")
        for node in walk([root], certain=True):
            self.node(node)
            if node.op == "where":
                guard, *sides = node.args
                for side, holds in zip(sides, (True, False), strict=True):
                    inside = self.inner(shared=True)
                    inside.conditions = (*self.conditions, (guard, holds))
                    inside.expression(side)

    def node(self, node: Node) -> None:
        match node.op:
            case "local" if node not in self.made:
                raise KernelError(f"{node} is used before it is declared")
            case "load":
                self.array(node.args[0])
                self.access(node.args[0], node.args[1])
                if node.dtype != node.args[0].dtype:
                    raise KernelError(f"{node} has type {node.dtype}")
            case "where" if node.args[1].dtype != node.args[2].dtype:
                raise KernelError(f"the sides of {node} have different types")
            case "apply":
                operation, *operands = node.args
                if [accumulator_type(t) for t in operation.operands] != [accumulator_type(x.dtype) for x in operands]:
                    raise KernelError(f"{node} has operands of types {[str(x.dtype) for x in operands]}")
            case "element":
                raise KernelError(f"nobody has decided where {node} is")

    def place(self, place: Place) -> None:
        if isinstance(place, Node):
            if place not in self.made:
                raise KernelError(f"{place} is changed before it is declared")
        else:
            self.array(place[0])
            self.access(*place, is_store=True)

    def array(self, buffer: Buffer) -> None:
        if buffer.space == "row" and buffer not in self.made:
            raise KernelError(f"row {buffer} is used before it is declared")

    def access(self, buffer: Buffer, offset: Node, size: int = 1, is_store: bool = False) -> None:
        access = Access(buffer, offset, self.conditions, self.loops, size)
        self.seen.append((access, is_store))
        if buffer.size and not access.is_inside:
            self.found.setdefault(access)


def _check_order(body: Sequence[Stmt]) -> None:
    """An expression is evaluated once in a body: nothing that it reads may change between two uses of it."""
    read: dict[tuple[Buffer, Node], Node] = {}
    changed_since: set[Node] = set()
    for stmt in body:
        loads = [node for node in walk(expressions(stmt), certain=True) if node.op == "load"] \
            if not isinstance(stmt, For) else []
        for node in loads:
            if node in changed_since:
                raise KernelError(f"{node} is read before and after it is changed")
        read.update({(node.args[0], node.args[1]): node for node in loads})
        changed_since |= {read[place] for place in written(stmt) if place in read}


def _check_variables(loop: For) -> None:
    """Iterations that may run in any order change no variable of the others; vectorised ones may fold into it."""
    how = "an independent" if loop.independent else "a vectorised"
    inside = list(nested(loop.body))
    own = {stmt.local for stmt in inside if isinstance(stmt, Declare)}
    for stmt in inside:
        for place in written(stmt):
            may_fold = isinstance(stmt, Combine) and not loop.independent
            if isinstance(place, Node) and place not in own and not may_fold:
                raise KernelError(f"iterations of {how} loop over {loop.axis} share {place}")


def _check_independence(loop: Repeat) -> None:
    """Iterations on several threads share nothing that one of them changes."""
    own = {buffer.name for buffer in loop.private}
    shared = [x for x in shared_by_iterations(loop) if isinstance(x, Node) or x.name not in own]
    if shared or loop.iteration is None or loop.condition:
        raise KernelError(f"iterations on several threads share {', '.join(map(str, shared)) or 'a condition'}")


def _meetings(loop: For, inside: Sequence[tuple[Access, bool]]) -> Iterator[Meeting]:
    """Yield, for each store in a loop's body, the accesses of other iterations that it may meet."""
    stmts = list(nested(loop.body))
    own = {stmt.buffer for stmt in stmts if isinstance(stmt, Row)}
    places = [place for stmt in stmts for place in written(stmt)]
    changing: frozenset[object] = frozenset([
        loop.axis, *(stmt.axis for stmt in stmts if isinstance(stmt, For)),
        *(stmt.local for stmt in stmts if isinstance(stmt, Declare)),
        *(place if isinstance(place, Node) else place[0] for place in places)])
    by_array: dict[Buffer, dict[tuple[Access, bool], None]] = defaultdict(dict)
    for access, is_store in inside:
        if access.buffer not in own and access.buffer.size and loop.axis.args[1] > 1:
            by_array[access.buffer][access, is_store] = None
    for uses in by_array.values():
        left = list(uses)
        for store in [access for access, is_store in uses if is_store]:
            left.remove((store, True))
            for other, _ in [(store, True), *left]:
                meeting = Meeting(loop.axis, store, other, changing)
                if not meeting.is_impossible:
                    yield meeting


def _check_type(stmt: Store | Combine) -> None:
    dtype = stmt.place.dtype if isinstance(stmt.place, Node) else stmt.place[0].dtype
    assert dtype is not None
    if stmt.value.dtype not in (dtype, accumulator_type(dtype)) and accumulator_type(stmt.value.dtype) != dtype:  # type: ignore[arg-type]
        raise KernelError(f"{stmt.value}, of type {stmt.value.dtype}, goes where {dtype} is")
