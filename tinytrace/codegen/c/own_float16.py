"""float16 computed by the CPU's own operations, where it has them: C's own type, one rounding each, and no floats.

Code for such CPUs stands beside that for others (`statements.Either`), where compilers make no vectors of this type.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tinytrace.codegen.c.lines import named
from tinytrace.codegen.c.numbers import is_negative, spelled
from tinytrace.codegen.c.types import variable_type, widened
from tinytrace.codegen.ir.nodes import Node
from tinytrace.codegen.ir.statements import Buffer
from tinytrace.core.dtypes import FLOAT16, DType

OWN = "_Float16"
FEATURE = "__AVX512FP16__"
"""What compilers say where the CPU computes with it."""


class OwnFloat16:
    """Is float16 computed as such in what is written now, and which variables hold it?"""

    def __init__(self) -> None:
        self._names: set[str] | None = None

    @contextlib.contextmanager
    def used(self, feature: str) -> Iterator[None]:
        """Compute float16 as such inside the `with`, if it is for CPUs with this feature."""
        self._names = set() if feature == FEATURE else None
        yield
        self._names = None

    def computes(self, dtype: DType | None) -> bool:
        """Are elements of this type computed as what they are, float16?"""
        return self._names is not None and dtype == FLOAT16

    def variable(self, name: str, dtype: DType | None) -> str:
        """Return the C type of a new variable."""
        if self._names is None or not self.computes(dtype):
            return variable_type(dtype)
        self._names.add(name)
        return OWN

    def read(self, node: Node, name: str) -> tuple[str, bool]:
        """Return the value of a variable, and whether it is one word: others hold a float."""
        is_float = self._names is not None and node.dtype == FLOAT16 and name not in self._names
        return (f"({OWN}){name}", False) if is_float else (name, True)

    def number(self, value: Any, dtype: DType) -> tuple[str, bool]:
        """Return a number in C, and whether it needs no parentheses."""
        text = spelled(value, dtype)
        return (f"({OWN}){text}", False) if self.computes(dtype) else (text, not is_negative(value))

    def element(self, text: str, buffer: Buffer) -> str:
        """Return the value of the element `text` of an array in memory."""
        return self.target(text, buffer) if self.computes(buffer.dtype) else widened(text, buffer.dtype)

    def target(self, text: str, buffer: Buffer) -> str:
        """Return the element `text` of an array, `x[i]`, as a place for values of this type: `((_Float16 *)x)[i]`."""
        name = named(buffer.name)
        return f"(({OWN} *){name}){text[len(name):]}" if self.computes(buffer.dtype) else text
