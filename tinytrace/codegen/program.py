"""A program as kernels, and what shows, runs and checks it."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from tinytrace.codegen.ir.cost import duration
from tinytrace.codegen.ir.interpreter import run, unwritten
from tinytrace.codegen.ir.kernel import Kernel, Nest
from tinytrace.codegen.ir.printer import to_text
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.codegen.memory import Memory, assign
from tinytrace.core.array import Array
from tinytrace.core.notebook import ShowsItself
from tinytrace.core.storage import storage_type

NDArray: TypeAlias = "np.ndarray[Any, Any]"


class Kernels(list[Kernel], ShowsItself):
    """The kernels of a program, in the order in which they run, and the arrays that they take and give.

    Printed: what each of them computes and costs. `as_text` shows their loops, `run` runs them, `memory` tells where
    temporary arrays lie.
    """

    def __init__(self, kernels: Iterable[Kernel] = (), inputs: Sequence[Buffer] = (), outputs: Sequence[Buffer] = (),
                 constants: Sequence[tuple[Buffer, Any]] = (),
                 shared: Mapping[Buffer, Buffer] = MappingProxyType({})) -> None:
        super().__init__(kernels)
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.constants = tuple(constants)
        """Arrays that loop bodies and branches close over, with their values."""
        self.shared = shared
        """For each output that is computed in the place of a donated input: that input."""

    def replaced(self, kernels: Iterable[Kernel]) -> Kernels:
        """Return other kernels with the same inputs and outputs."""
        return Kernels(kernels, self.inputs, self.outputs, self.constants, self.shared)

    @property
    def nanoseconds(self) -> float:
        """About how long they take on one thread; what loops and branches around kernels repeat counts once."""
        return sum(duration(kernel.body) for kernel in self if isinstance(kernel, Nest))

    @property
    def has_callbacks(self) -> bool:
        """Do they call Python functions of the user's?"""
        return any(buffer.name == "callback_ids" for buffer, _ in self.constants)

    def __str__(self) -> str:
        return "\n".join(str(kernel) for kernel in self if kernel.equations)

    __repr__ = __str__

    def as_text(self) -> str:
        """Return the program in the language of kernels, statement by statement.

        >>> import tinytrace as jax, numpy as np
        >>> lowered = jax.jit(lambda x: x * 2 + 1).trace(np.ones(8, np.float32)).lower()
        >>> print(lowered.kernels.as_text())
        input a:f32[8]
        output b:f32[8]
        nest:
            for i0 in 0 .. 8 simd independent:
                b[i0] = fma(a[i0], 2.0, 1.0)
        """
        heads = [f"{buffer.space} {buffer}" for buffer in self.inputs]
        heads += [f"output {buffer}" + (f" in the place of {self.shared[buffer].name}" if buffer in self.shared else "")
                  for buffer in self.outputs]
        return "\n".join([*heads, to_text(self)])

    def memory(self) -> Memory:
        """Return where the temporary arrays lie; printed as a chart of when each of them is needed."""
        return assign(self)

    def run(self, *arrays: Any) -> list[NDArray]:
        """Run the kernels in NumPy, without a compiler, on the bytes that `memory` gives to temporary arrays.

        Args:
          arrays: one for each of `inputs`, of its shape and dtype.

        Returns:
          one array for each of `outputs`.

        Raises:
          TypeError: an array is missing or is not what its input is.
          KernelError: a kernel leaves its arrays; that is a mistake in the code generator.
        """
        return self.run_in(self.memory(), *arrays)

    def run_in(self, memory: Memory | None, *arrays: Any) -> list[NDArray]:
        """Run like `run`; memory: where temporary arrays lie, None: each has its own bytes."""
        if len(arrays) != len(self.inputs):
            raise TypeError(f"the kernels have {len(self.inputs)} inputs ({', '.join(map(str, self.inputs))}) "
                            f"and were called with {len(arrays)} arrays")
        contents = {buffer: self._checked(buffer, x) for buffer, x in zip(self.inputs, arrays, strict=True)}
        contents |= {buffer: _elements(buffer, value) for buffer, value in self.constants}
        contents |= {buffer: unwritten(buffer) for buffer in self.outputs}
        contents |= {buffer: contents[given].copy() for buffer, given in self.shared.items()}
        if memory is not None:
            workspace = np.full(memory.nbytes, 0xA5, np.uint8)
            for buffer, offset in memory.offsets.items():
                part = workspace[offset:offset + buffer.size * storage_type(buffer.dtype).itemsize]
                contents[buffer] = part.view(storage_type(buffer.dtype)) if buffer.size else unwritten(buffer)
        run(self, contents)
        return [contents[buffer][:buffer.size].reshape(buffer.shape).copy() for buffer in self.outputs]

    def _checked(self, buffer: Buffer, x: Any) -> NDArray:
        found = x._value if isinstance(x, Array) else np.asarray(x)
        if found.shape != buffer.shape or found.dtype.itemsize != storage_type(buffer.dtype).itemsize:
            raise TypeError(f"input {buffer} was given an array of type {found.dtype.name}"
                            f"[{','.join(map(str, found.shape))}]")
        return _elements(buffer, found)


def _elements(buffer: Buffer, value: Any) -> NDArray:
    flat = np.ascontiguousarray(np.asarray(value)).reshape(-1)
    return flat.astype(storage_type(buffer.dtype)) if flat.size else unwritten(buffer)
