"""A root with its decisions: what it computes, in which loops, into which variables, and where the result goes."""
from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tinytrace.codegen.ir.arithmetic import rebuild
from tinytrace.codegen.ir.inserted_operations import converted, is_nan, is_set, select
from tinytrace.codegen.ir.nodes import Node, apply, literal, local, rewrite, walk
from tinytrace.codegen.ir.reductions import accumulator_type, identity, propagating
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.codegen.plan.partition import Root
from tinytrace.core.dtypes import BOOL, DType
from tinytrace.records import dataclass


@dataclass(eq=False)
class Task:
    """A root with its decisions: what it computes, in which loops, and where the result goes."""

    root: Root
    value: Node
    targets: list[tuple[Buffer, Node]]
    """Where in memory the result goes."""
    depth: int
    """How many of its stage's inner loops are over dimensions of the result."""
    name: str
    remembered: bool
    """Do later stages read the result?"""


@dataclass(eq=False)
class StagePlan:
    """Tasks that share the loops `inner`, inside the outer loops."""

    inner: list[Node]
    tasks: list[Task]


def computed(stages: Iterable[StagePlan]) -> list[Node]:
    """Return everything that the tasks of `stages` evaluate."""
    tasks = [task for stage in stages for task in stage.tasks]
    return [node for task in tasks for node in (task.value, *(offset for _, offset in task.targets))]


def replace(stages: Iterable[StagePlan], replaced: dict[Node, Node]) -> None:
    """Put other nodes in the place of some, in everything that is computed."""
    for stage in stages:
        for task in stage.tasks:
            value, *offsets = rewrite([task.value, *(offset for _, offset in task.targets)], replaced, rebuild)
            task.value = value
            task.targets = [(buffer, offset) for (buffer, _), offset in zip(task.targets, offsets, strict=True)]


def variable(task: Task) -> Node:
    """Return the C variable that holds the result of a root."""
    return _local(task, task.name, task.root.var.aval.dtype)


def _local(task: Task, name: str, dtype: DType) -> Node:
    """Return the C variable `name`, which belongs to the equations of the task's root."""
    node = local(name, dtype)
    node.eqns |= task.root.eqns
    return node


def folds(task: Task) -> list[tuple[Node, str, Node]]:
    """Return (variable, operation, element) for each variable that a loop folds into."""
    root, dtype = task.root, task.root.var.aval.dtype
    wide = _flag_type(task.value) if dtype == BOOL and not root.running else accumulator_type(dtype)
    if propagating(root.combine, wide) == root.combine or root.running:
        name = task.name if wide == dtype else f"{task.name}_{root.combine}"
        value = converted(task.value, wide) if dtype == BOOL else task.value
        return [(_local(task, name, wide), propagating(root.combine, wide), value)]
    nan_seen = apply(is_nan(wide), (task.value,))
    assert nan_seen.dtype is not None
    return [(_local(task, f"{task.name}_{root.combine}", wide), root.combine, task.value),
            (_local(task, f"{task.name}_nan", nan_seen.dtype), "or", nan_seen)]


def _flag_type(value: Node) -> DType:
    """Return an integer as wide as what a truth value is made of: a vector has as many flags as elements."""
    sizes = [node.dtype.itemsize for node in walk([value]) if node.op == "load" and node.dtype is not None]
    return np.dtype(f"i{max(sizes)}") if sizes and 1 < max(sizes) <= 8 else BOOL


def result_of(task: Task) -> Node:
    """Return what the folded variables mean when the loop has ended."""
    first, *others = [x for x, _, _ in folds(task)]
    dtype = task.root.var.aval.dtype
    wide = first.dtype
    assert wide is not None
    if others:
        assert others[0].dtype is not None
        first = apply(select(wide, others[0].dtype), (others[0], literal(np.nan, wide), first))
    return apply(is_set(wide), (first,)) if dtype == BOOL and wide != BOOL else converted(first, dtype)


def start_of(x: Node, op: str) -> Node:
    """Return the value of a fold of nothing, for the variable `x`."""
    assert x.dtype is not None
    return literal(identity(op, x.dtype), x.dtype)
