"""Random programs: Python text over `jnp` and `lax`, drawn one step at a time.

    def program(a, b):
        c = jnp.sin(a)
        d = jnp.where(b, a, c)
        return d, c
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

import tinytrace
import tinytrace.numpy as jnp
from tinytrace import lax
from tinytrace.records import NamedTuple, dataclass
from tinytrace.testing.values import TAME, Dtype, Shape, Value

T = TypeVar("T")


@dataclass(frozen=True)
class Program:
    """A random program.

    Args:
      source: its text, a function `program`.
      inputs: what its arguments must be.
      results: what is known of its results, in order.
    """

    source: str
    inputs: tuple[Value, ...]
    results: tuple[Value, ...]

    def function(self, **modules: Any) -> Callable[..., Any]:
        """The program as a Python function; `jnp=`, `lax=` name other modules than tinytrace's to run it with."""
        names = {"jnp": jnp, "lax": lax, "jax": tinytrace, "np": np, **modules}
        exec(self.source, names)
        function: Callable[..., Any] = names["program"]
        return function

    def __repr__(self) -> str:
        types = ", ".join(f"{v.name}: {v.dtype.name}[{','.join(map(str, v.shape))}]" for v in self.inputs)
        return f"\n# {types}\n{self.source}"


class Case(NamedTuple):
    """A program and arguments to call it on; printed, it is a Python text that runs by itself."""

    program: Program
    arguments: list[Any]

    def __repr__(self) -> str:
        calls = ", ".join(map(array_text, self.arguments))
        return f"\n{HEAD}\n{self.program.source}\nprint(program({calls}))\n"


HEAD = """import numpy as np
import tinytrace as jax
import tinytrace.numpy as jnp
from numpy import inf, nan
from tinytrace import lax
"""


def array_text(x: Any) -> str:
    """Return a Python expression for an array, by its numbers.

    >>> array_text(np.float32([1, np.nan, -0.0]))
    "jnp.array([1.0, nan, -0.0], 'float32')"
    """
    x = np.asarray(x)
    if x.size == 0:
        return f"jnp.zeros({x.shape}, {x.dtype.name!r})"
    return f"jnp.array({x.tolist()}, {x.dtype.name!r})"


@dataclass
class Block:
    """A function while its lines are drawn: the values that exist so far, and the source of fresh names."""

    values: list[Value]
    names: Iterator[str]
    depth: int = 0
    """How many loops and branches it stands in."""
    exact_only: bool = False
    """In the body of a loop only steps without rounding are drawn: errors would grow from turn to turn."""
    contraction: bool = False
    """Whether a product may reach a sum unrounded (fused multiply-add), so that `+ - *` of floats have an error."""
    lines: list[str] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    """The arguments of the program; of inner functions none."""

    def argument(self, draw: st.DrawFn, shape: Shape, dtype: Dtype, tame: bool) -> Value:
        """One more argument of the program: one that there is, where it fits, or a new one."""
        bound = TAME if tame else math.inf
        fitting = [v for v in self.inputs if (v.shape, v.dtype) == (shape, dtype) and v.bound <= bound]
        if fitting:
            again: bool = draw(st.booleans())
            if again:
                return fitting[0]
        value = Value(next(self.names), shape, dtype, bound)
        self.inputs.append(value)
        self.values.append(value)
        return value

    def add(self, text: str, shape: Shape, dtype: Dtype, bound: float, error: float = 0.0) -> Value:
        """Appends the line `name = text`."""
        value = Value(next(self.names), shape, dtype, bound, error)
        self.lines.append(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def define(self, name: str, inner: Block, inputs: Sequence[Value], result: str) -> None:
        """Appends a nested function."""
        self.lines.append(function_text(name, inputs, inner.lines, result))

    def inner(self, inputs: Sequence[Value], exact_only: bool) -> Block:
        """An empty function inside this one, with `inputs` as its values."""
        return Block(list(inputs), self.names, self.depth + 1, exact_only, self.contraction)


Step = Callable[[st.DrawFn, Block], Value | None]
"""Draws one step of a block and appends it; None where the values at hand do not allow it."""


def variable_names() -> Iterator[str]:
    """a, b, ..., z, v26, v27, ..."""
    yield from "abcdefghijklmnopqrstuvwxyz"
    yield from (f"v{i}" for i in itertools.count(26))


def draw_program(
    draw: st.DrawFn,
    steps: Sequence[Step],
    inputs: st.SearchStrategy[list[tuple[Shape, Dtype, bool]]],
    max_steps: int,
    contraction: bool,
) -> Program:
    """Draws a program: inputs `(shape, dtype, is tame)`, then up to `max_steps` of the given steps.

    Its results are the values that no step used, so that every step matters.
    """
    names = variable_names()
    values = [
        Value(next(names), shape, dtype, TAME if tame and dtype.kind == "f" else np.inf)
        for shape, dtype, tame in draw(inputs)
    ]
    block = Block(values.copy(), names, contraction=contraction, inputs=values)
    draw_steps(draw, block, draw(_families(tuple(steps))), draw(st.integers(1, max_steps)), otherwise=steps)
    results = unused(block) or block.values[-1:]
    source = function_text("program", values, block.lines, f"{', '.join(v.name for v in results)},")
    return Program(source + "\n", tuple(values), tuple(results))


def draw_from(draw: st.DrawFn, options: Sequence[T]) -> T:
    """One of the options: `st.sampled_from` without a strategy of its own, which takes longer to make than to use."""
    return options[draw(_positions(len(options)))]


@functools.cache
def _positions(count: int) -> st.SearchStrategy[int]:
    return st.sampled_from(range(count))


@functools.cache
def _families(steps: tuple[Step, ...]) -> st.SearchStrategy[list[Step]]:
    """All of them, or a few, which then meet each other more often."""
    few = st.lists(st.sampled_from(steps), min_size=1, max_size=3)
    return st.one_of(st.just(list(steps)), few, few)


def unused(block: Block) -> list[Value]:
    """The values that no line of the block uses: as results, they keep every line alive."""
    return [value for value in block.values if not any(mentions(line, value.name) for line in block.lines)]


def mentions(line: str, name: str) -> bool:
    """Whether a line uses a name, other than by defining it."""
    return re.search(rf"\b{name}\b(?! =)", line) is not None


def function_text(name: str, inputs: Sequence[Value], lines: Sequence[str], result: str) -> str:
    """The text of a function."""
    body = textwrap.indent("\n".join([*lines, f"return {result}"]), "    ")
    return f"def {name}({', '.join(value.name for value in inputs)}):\n{body}"


def draw_steps(draw: st.DrawFn, block: Block, steps: Sequence[Step], count: int,
               otherwise: Sequence[Step] = ()) -> None:
    """Draws `count` steps of a block; for one that the values at hand do not allow there are two more attempts.

    Args:
      otherwise: what these attempts choose from, if not from `steps`: few families often do not fit the inputs.
    """
    for _ in range(count):
        for family in (steps, otherwise or steps, otherwise or steps):
            if draw_from(draw, family)(draw, block) is not None:
                break
