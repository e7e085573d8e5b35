"""What all planners of one translation unit share: names, and the Python functions that the program calls."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.codegen.ir.statements import Buffer
from tinytrace.codegen.plan.names import Names
from tinytrace.core.avals import ShapedArray
from tinytrace.records import NamedTuple, replace


class Callback(NamedTuple):
    """A Python function of arrays that a program calls: types of what it takes and of what it returns."""

    function: Callable[..., Any]
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]


class Unit:
    """One translation unit under construction."""

    def __init__(self, fuses: bool = True) -> None:
        self.fuses = fuses
        """May a product and a sum be rounded once?"""
        self.names = Names()
        self.callbacks: list[Callback] = []
        self.callback_ids = Buffer("callback_ids", (), np.dtype(np.int64), "input")
        """Where the numbers of the callbacks in this process begin, an input of a program that calls Python."""
        self.constants: dict[int, tuple[Buffer, Any]] = {}
        """Arrays that programs inside loops and branches close over; they are inputs of the whole."""

    def add_callback(self, callback: Callback) -> int:
        """Remember a function; Returns its place in `callback_ids`."""
        self.callbacks.append(callback)
        return len(self.callbacks) - 1

    def constant(self, value: Any, aval: ShapedArray) -> Buffer:
        """Return the array through which the program sees a closed-over value."""
        if id(value) not in self.constants:
            name = self.names.fresh(f"constant_{len(self.constants)}")
            self.constants[id(value)] = Buffer(name, aval.shape, aval.dtype, "input"), value
        return self.constants[id(value)][0]

    def hidden_inputs(self) -> list[Buffer]:
        """Return the inputs that the jaxpr does not show, in the order in which they follow the others."""
        count = len(self.callbacks)
        ids = [replace(self.callback_ids, shape=(count,))] if count else []
        return [*(buffer for buffer, _ in self.constants.values()), *ids]
