"""Is this a well-formed list of kernels? Tests ask after planning; C compilers would find some of it, later and worse.

    scoping   an axis is used inside its loop, a variable or row after its declaration
    bounds    an offset that is evaluated for certain lies inside its array, as far as ranges tell
    types     an element goes where elements of its type are
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from tinytrace.codegen.ir.arithmetic import constant_of
from tinytrace.codegen.ir.evaluation import KernelError
from tinytrace.codegen.ir.kernel import Choose, Kernel, Nest, Repeat
from tinytrace.codegen.ir.nodes import Node, walk
from tinytrace.codegen.ir.reductions import accumulator_type
from tinytrace.codegen.ir.statements import (
    Buffer,
    Call,
    Combine,
    Declare,
    For,
    Place,
    Row,
    Stmt,
    Store,
    When,
    expressions,
    written,
)


def verify(kernels: Sequence[Kernel]) -> None:
    """Raise KernelError when something in `kernels` is out of scope, out of bounds or of the wrong type."""
    _Scope(set(), set()).program(kernels)


class _Scope:
    """What exists at one point of a program: loop axes whose loops are open, variables and rows."""

    def __init__(self, axes: set[Node], made: set[object], guarded: bool = False) -> None:
        self.axes = axes
        self.made = made
        self.guarded = guarded
        """Does a guard decide whether this point is reached? Then ranges tell nothing."""

    def program(self, kernels: Sequence[Kernel]) -> None:
        for kernel in kernels:
            if isinstance(kernel, Nest):
                self.body(kernel.body)
            elif isinstance(kernel, Repeat):
                inside = _Scope(self.axes, self.made | ({kernel.iteration} if kernel.iteration is not None else set()))
                inside.program(kernel.condition)
                if kernel.wanted is not None:
                    inside.expression(kernel.wanted)
                inside.program(kernel.body)
            elif isinstance(kernel, Choose):
                assert kernel.index is not None
                self.expression(kernel.index)
                for branch in kernel.branches:
                    _Scope(self.axes, set(self.made)).program(branch)

    def body(self, body: Sequence[Stmt]) -> None:
        for stmt in body:
            for node in expressions(stmt):
                self.expression(node)
            for place in written(stmt):
                self.place(place)
            if isinstance(stmt, (Store, Combine)):
                _check_type(stmt)
            if isinstance(stmt, Declare):
                self.made.add(stmt.local)
            elif isinstance(stmt, Call) and stmt.then is not None:
                self.body([stmt.then])
            elif isinstance(stmt, Row):
                self.made.add(stmt.buffer.name)  # two arrays of one name are one place in C
            elif isinstance(stmt, For):
                bounded = constant_of(stmt.end) == stmt.axis.high + 1
                made = self.made | {stmt.axis} if bounded else set(self.made)
                _Scope(self.axes | {stmt.axis}, made, self.guarded).body(stmt.body)
            elif isinstance(stmt, When):
                _Scope(self.axes, set(self.made), guarded=True).body(stmt.body)

    def expression(self, root: Node) -> None:
        if not root.axes <= self.axes:
            raise KernelError(f"{root} uses {root.axes - self.axes} outside of its loop")
        certain = set(walk([root], certain=True))
        for node in walk([root]):
            if node.op == "local" and node not in self.made:
                raise KernelError(f"{node} is used before it is declared, in {root}")
            if node.op == "load":
                self.array(node.args[0])
                if node in certain:
                    self.inside(node.args[0], node.args[1])
            if node.op == "where" and node.args[1].dtype != node.args[2].dtype:
                raise KernelError(f"the sides of {node} have different types")
            if node.op == "element":
                raise KernelError(f"nobody has decided where {node} is")

    def place(self, place: Place) -> None:
        if isinstance(place, Node):
            if place not in self.made:
                raise KernelError(f"{place} is changed before it is declared")
        else:
            self.array(place[0])
            self.expression(place[1])
            self.inside(*place)

    def array(self, buffer: Buffer) -> None:
        if buffer.space == "row" and buffer.name not in self.made:
            raise KernelError(f"row {buffer} is used before it is declared")

    def inside(self, buffer: Buffer, offset: Node) -> None:
        finite = math.isfinite(offset.low) and math.isfinite(offset.high)
        known = finite and not self.guarded and offset.axes <= self.made
        if known and buffer.size and not 0 <= offset.low <= offset.high < buffer.size:
            raise KernelError(f"{buffer}[{offset}] lies between {offset.low} and {offset.high}")


def _check_type(stmt: Store | Combine) -> None:
    dtype = stmt.place.dtype if isinstance(stmt.place, Node) else stmt.place[0].dtype
    assert dtype is not None
    if stmt.value.dtype not in (dtype, accumulator_type(dtype)) and accumulator_type(stmt.value.dtype) != dtype:  # type: ignore[arg-type]
        raise KernelError(f"{stmt.value}, of type {stmt.value.dtype}, goes where {dtype} is")
