"""A program's C stopped behind one of its kernels, and the same kernels in NumPy: what lies in each array there.

The first kernels of a program are a program: they are written as C in the same words, with the same arrays in the same
bytes of the workspace, so that what the machine computes up to there can be looked at.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tinytrace._dispatch import Buffer as Block
from tinytrace.api.concrete import as_array
from tinytrace.api.jit import JitFunction, jit
from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.api.program import Program
from tinytrace.api.stages import Lowered
from tinytrace.codegen.c.translation_unit import emit
from tinytrace.codegen.ir.interpreter import run, unwritten
from tinytrace.codegen.ir.kernel import Kernel
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.control_flow.bodies import stored
from tinytrace.core.jaxpr import ClosedJaxpr
from tinytrace.core.storage import storage_type
from tinytrace.core.trees import tree_leaves
from tinytrace.runtime.ladder import load

State: TypeAlias = "dict[Buffer, np.ndarray[Any, Any]]"


def lowered_with_arguments(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
                           ) -> tuple[Lowered, list[Any]]:
    """Return a function, jitted or not, as it is lowered for a call, and the arrays that are its dynamic arguments."""
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)
    lowered = jitted.trace(*args, **kwargs).lower()
    dynamic, _ = jitted._split(args, kwargs)
    avals = lowered._program.in_avals
    return lowered, [as_array(x, aval) for x, aval in zip(tree_leaves(dynamic), avals, strict=True)]


def program_with_arguments(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
                           ) -> tuple[ClosedJaxpr, list[Any]]:
    """Return a function, jitted or not, as it is traced for a call, and its dynamic arguments, flat.

    What is not jitted is traced anew each time.
    """
    if not isinstance(fun, JitFunction):
        return make_jaxpr(fun)(*args, **kwargs), tree_leaves((args, kwargs))
    return fun.trace(*args, **kwargs).jaxpr, tree_leaves(fun._split(args, kwargs)[0])


class Prefixes:
    """The first kernels of a program, on given arguments, however many."""

    def __init__(self, program: Program, args: Sequence[Any]) -> None:
        self.generated, self.hidden = program.generated, program._hidden
        self.kernels: list[Kernel] = list(self.generated.kernels)
        self.outputs = self.generated.kernels.outputs
        self.fuses = not program.exact
        self.memory = self.generated.kernels.memory()
        self.inputs = program.kernel_inputs(args)

    def in_numpy(self, count: int) -> State:
        """Return the elements of every array after `count` kernels, by the interpreter of kernels."""
        kernels = self.generated.kernels
        contents: State = {}
        for buffer, x in [*zip(kernels.inputs, self.inputs, strict=True), *kernels.constants]:
            flat = np.ascontiguousarray(stored(x)).reshape(-1)
            contents[buffer] = flat.astype(storage_type(buffer.dtype)) if flat.size else unwritten(buffer)
        contents |= {buffer: unwritten(buffer) for buffer in kernels.outputs}
        contents |= self._in_workspace(np.full(self.memory.nbytes, 0xA5, np.uint8))
        run(self.kernels[:count], contents)
        return {buffer: x.copy() for buffer, x in contents.items()}

    def in_c(self, count: int) -> State:
        """Return the elements of every output and temporary array after `count` kernels, by the machine."""
        kernels, source = self.generated.kernels, self.generated.source
        hidden = [buffer for buffer, _ in kernels.constants]
        unit = emit(self.kernels[:count], [*kernels.inputs, *hidden], kernels.outputs, self.memory,
                    self.fuses)
        executable = load(source._replace(text=unit.text, parts=unit.parts, preamble=len(unit.preamble)))
        outputs: list[Any] = [Block(max(buffer.nbytes, 1)) for buffer in kernels.outputs]
        workspace: Any = Block(max(self.memory.nbytes, 1))
        addresses = [x.address for x in [*self.inputs, *self.hidden, *outputs]]
        executable(addresses + ([workspace.address] if source.workspace else []))
        contents = {buffer: _bytes_of(block, max(buffer.nbytes, 1))[:buffer.nbytes].view(storage_type(buffer.dtype))
                    for buffer, block in zip(kernels.outputs, outputs, strict=True)}
        contents |= self._in_workspace(_bytes_of(workspace, max(self.memory.nbytes, 1)))
        return contents

    def _in_workspace(self, workspace: np.ndarray[Any, Any]) -> State:
        contents: State = {}
        for buffer, offset in self.memory.offsets.items():
            dtype = storage_type(buffer.dtype)
            part = workspace[offset:offset + buffer.size * dtype.itemsize]
            contents[buffer] = part.view(dtype) if buffer.size else unwritten(buffer)
        return contents


def _bytes_of(block: Any, nbytes: int) -> np.ndarray[Any, Any]:
    return np.ndarray((nbytes,), np.uint8, block).copy()
