"""Kernels run in NumPy: the second executable form of a program, between its jaxpr and its C.

    run(kernels, memory)      memory: for each array of the program its elements, changed in place

Statements run one after the other, as they stand. The innermost loops whose iterations do not meet run as one: an axis
is then a vector of numbers, one for each iteration, a *lane*. A fold adds one element after the other, so results do
not depend on how loops were cut. Whatever lies outside of its array is a KernelError, and so is a loop without end.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace.codegen.ir.evaluation import Endless, Evaluation, KernelError
from tinytrace.codegen.ir.kernel import Choose, Kernel, Nest, Repeat
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.reductions import accumulator_type, fold_of
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Combine,
    Declare,
    Either,
    For,
    Inclusive,
    Place,
    Row,
    Stmt,
    Store,
    When,
    expressions,
    nested,
    written,
)
from tinytrace.core.dtypes import DType
from tinytrace.core.monoids import monoids
from tinytrace.core.storage import storage_type

NDArray: TypeAlias = "np.ndarray[Any, Any]"
Memory: TypeAlias = dict[Buffer, NDArray]

MOST_ITERATIONS = 100_000
"""Iterations of one conditional loop after which it counts as endless."""
GARBAGE = 0xA5
"""What each byte of an array is before it is written."""


def run(kernels: Sequence[Kernel], memory: Memory) -> None:
    """Run kernels on the arrays of `memory`; raises KernelError when they leave them."""
    with np.errstate(all="ignore"):
        _Run(memory).program(kernels)


def unwritten(buffer: Buffer) -> NDArray:
    """Return elements for an array that nobody has written yet."""
    dtype = storage_type(buffer.dtype)
    return np.full(max(buffer.size, 1) * dtype.itemsize, GARBAGE, np.uint8).view(dtype)


class _Run:
    """One run: the elements of arrays, the values of variables and axes."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.values: dict[Node, Any] = {}
        self._lanes: dict[For, bool] = {}
        self._orders: dict[Node, tuple[Node, ...]] = {}

    def program(self, kernels: Sequence[Kernel]) -> None:
        for kernel in kernels:
            match kernel:
                case Nest(body=body):
                    self._body(body)
                case Repeat():
                    self._repeat(kernel)
                case Choose(index=Node() as index, branches=branches):
                    self.program(branches[min(max(int(self._value(index)), 0), len(branches) - 1)])

    # --- loops around programs ---------------------------------------------------------------------------------

    def _repeat(self, loop: Repeat) -> None:
        memory = self.memory
        for pair in loop.exchanges:
            memory[pair.before], memory[pair.after] = self._array(pair.first), self._array(pair.second)
        steps = range(loop.length) if loop.iteration is not None else range(MOST_ITERATIONS + 1)
        for k in reversed(steps) if loop.reverse else steps:
            if loop.iteration is not None:
                self.values[loop.iteration] = k
            self.memory.update((buffer, unwritten(buffer)) for buffer in loop.private)
            for view in loop.views:
                memory[view.buffer] = self._part(view.base, k * view.step, view.buffer.size)
            self.program(loop.condition)
            if loop.wanted is not None and not self._value(loop.wanted):
                break
            if loop.iteration is None and k == MOST_ITERATIONS:
                raise Endless(f"a loop has not ended after {MOST_ITERATIONS} iterations")
            self.program(loop.body)
            for pair in loop.exchanges:
                if pair.before is not pair.after:
                    memory[pair.before], memory[pair.after] = memory[pair.after], memory[pair.before]
        if loop.wanted is not None:
            for pair in loop.exchanges:
                self._array(pair.result)[:] = memory[pair.before]

    def _array(self, buffer: Buffer) -> NDArray:
        if buffer not in self.memory:
            if buffer.space != "workspace":
                raise KernelError(f"{buffer} does not exist here")
            self.memory[buffer] = unwritten(buffer)
        return self.memory[buffer]

    def _part(self, buffer: Buffer, begin: int, size: int) -> NDArray:
        array = self._array(buffer)
        if not 0 <= begin <= begin + size <= max(buffer.size, 1):
            raise KernelError(f"elements {begin} to {begin + size} are not in {buffer}")
        return array[begin:begin + max(size, 1)]

    # --- statements --------------------------------------------------------------------------------------------

    def _value(self, node: Node, mask: NDArray | None = None) -> Any:
        return Evaluation(self.values, self._array, mask, self._orders).of(node)

    def _body(self, body: Sequence[Stmt], mask: NDArray | None = None) -> None:
        """Run statements; mask: the lanes in which they run."""
        for stmt in body:
            match stmt:
                case For():
                    self._loop(stmt)
                case Declare(local, value, _):
                    self.values[local] = self._value(value, mask)
                case Row(buffer):
                    self.memory[buffer] = unwritten(buffer)
                case Store(place, value):
                    self._store(place, self._value(value, mask), mask)
                case Combine(place, op, value):
                    self._combine(place, op, self._value(value, mask), mask)
                case When(guard, inner):
                    self._when(self._value(guard, mask), inner, mask)
                case Call():
                    self._call(stmt)
                case Either():
                    self._either(stmt, mask)

    def _either(self, stmt: Either, mask: NDArray | None) -> None:
        """Run both ways on the same arrays; raises KernelError when their bits differ."""
        arrays = [self._array(place[0]) for inner in nested(stmt.body) for place in written(inner)
                  if not isinstance(place, Node)]
        before = [array.copy() for array in arrays]
        self._body(stmt.otherwise, mask)
        results = [array.copy() for array in arrays]
        for array, values in zip(arrays, before, strict=True):
            array[:] = values
        self._body(stmt.body, mask)
        if any(a.tobytes() != b.tobytes() for a, b in zip(arrays, results, strict=True)):
            raise KernelError(f"with and without {stmt.feature} results differ")

    def _when(self, guard: Any, body: Sequence[Stmt], mask: NDArray | None) -> None:
        if np.ndim(guard):
            chosen = np.asarray(guard, bool) if mask is None else guard & mask
            if chosen.any():
                self._body(body, chosen)
        elif guard:
            self._body(body, mask)

    def _store(self, place: Place, value: Any, mask: NDArray | None) -> None:
        if isinstance(place, Node):
            self.values[place] = value
            return
        array, at = self._at(place, mask)
        if mask is not None:
            at, value = np.broadcast_to(at, mask.shape)[mask], np.broadcast_to(value, mask.shape)[mask]
        array[at] = value

    def _combine(self, place: Place, op: str, value: Any, mask: NDArray | None) -> None:
        if isinstance(place, Node):
            if mask is not None:
                value = np.broadcast_to(value, mask.shape)[mask]
            assert place.dtype is not None
            self.values[place] = _folded(op, self.values[place], value, place.dtype)
            return
        array, at = self._at(place, mask)
        if mask is not None:
            at, value = np.broadcast_to(at, mask.shape)[mask], np.broadcast_to(value, mask.shape)[mask]
        at, values = np.broadcast_arrays(at, value)
        dtype = accumulator_type(place[0].dtype)
        if at.ndim and dtype == place[0].dtype:
            monoids[op].ufunc.at(array, at, values)
            return
        take = fold_of(op, place[0].dtype).operation.numpy
        for i, x in zip(np.ravel(at), np.ravel(values), strict=True):
            array[i] = take(array[i].astype(dtype), x.astype(dtype))

    def _at(self, place: tuple[Buffer, Node], mask: NDArray | None) -> tuple[NDArray, Any]:
        """Return the elements of an array and which of them are meant."""
        evaluation = Evaluation(self.values, self._array, mask, self._orders)
        return self._array(place[0]), evaluation.inside(place[0], evaluation.of(place[1]))

    def _call(self, call: Call) -> None:
        places: dict[str, NDArray] = {}
        for name, place in call.places.items():
            if isinstance(place, Node):
                assert place.dtype is not None
                places[name] = np.array([self.values[place]], storage_type(place.dtype))
            else:
                begin = int(self._value(place[1]))
                places[name] = self._part(place[0], begin, place[0].size - begin)
        call.procedure.meaning(places)
        for name in call.written:
            place = call.places[name]
            if isinstance(place, Node):
                self.values[place] = places[name][0]
        if call.then is not None:
            self._loop(call.then)

    # --- loops over elements -----------------------------------------------------------------------------------

    def _loop(self, loop: For) -> None:
        begin, end = int(self._value(loop.begin)), int(self._value(loop.end))
        if self._lanes.get(loop) is None:
            self._lanes[loop] = _iterations_do_not_meet(loop)
        if not self._lanes[loop]:
            for k in range(begin, end):
                self.values[loop.axis] = k
                self._body(loop.body)
        elif begin < end:
            self.values[loop.axis] = np.arange(begin, end)
            self._body(loop.body)
            for stmt in loop.body:
                if isinstance(stmt, Combine) and isinstance(stmt.place, Node) and np.ndim(self.values[stmt.place]):
                    self.values[stmt.place] = self.values[stmt.place][-1]  # what is folded in the last iteration


def _iterations_do_not_meet(loop: For) -> bool:
    """May the statements of a loop run one after the other, each for all iterations? Folds into variables may meet."""
    combined = {stmt.place for stmt in loop.body if isinstance(stmt, Combine)}
    made = {stmt.local for stmt in loop.body if isinstance(stmt, Declare)}
    stored: dict[Buffer, Node] = {}
    done: set[Node] = set()
    for stmt in loop.body:
        inner = [stmt, *stmt.body] if isinstance(stmt, When) else [stmt]
        for step in inner:
            if not isinstance(step, (Declare, Store, Combine, Inclusive)) and step is not stmt:
                return False
            if isinstance(step, (For, Row, Call, Either)):
                return False
            if any(node in combined - done for node in walk(expressions(step)) if node.op == "local"):
                return False  # what the iteration before has folded
            place = step.place if isinstance(step, (Store, Combine)) else None
            if isinstance(step, Combine) and isinstance(place, Node):
                if step is not stmt or place in made:
                    return False
                done.add(place)
            elif isinstance(place, Node):
                if place not in made:
                    return False
            elif place is not None:
                if stored.setdefault(place[0], place[1]) is not place[1]:
                    return False
                if isinstance(step, Store) and loop.axis not in place[1].axes:
                    return False
    loads = [node for stmt in loop.body for inner in ([stmt, *stmt.body] if isinstance(stmt, When) else [stmt])
             for node in walk(expressions(inner)) if node.op == "load"]
    return not any(node.args[0] in stored for node in loads) or _is_pointwise(loop, stored, loads)


def _is_pointwise(loop: For, stored: dict[Buffer, Node], loads: Sequence[Node]) -> bool:
    """Does each iteration read, of arrays that the loop changes, nothing but the element that it changes itself?"""
    return (loop.simd or loop.independent) and all(
        node.args[1] is stored[node.args[0]] for node in loads if node.args[0] in stored)


def _folded(op: str, start: Any, elements: Any, dtype: DType) -> Any:
    """Return a fold of `elements`, one after the other, from `start` on; of a vector: what it is after each."""
    ufunc, element = monoids[op].ufunc, storage_type(dtype)
    if not np.ndim(elements):
        return ufunc(element.type(start), np.asarray(elements).astype(element))
    if np.ndim(start):
        start = start[-1]
    all_of_them = np.concatenate([np.asarray([start]).astype(element), np.asarray(elements).astype(element)])
    wrapping = element if element.kind in "iu" else None  # NumPy would add small integers in 64 bits
    return ufunc.accumulate(all_of_them, dtype=wrapping)[1:] if len(elements) else start
