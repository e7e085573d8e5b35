"""The vocabulary of the benchmarks: a `Line` is one row of the table, with one implementation per rival.

`jaxlike` serves tinytrace and JAX alike: it gets the module (`jax`) and its `numpy` (`jnp`). The other makers import
their own library. Every maker returns a function of no arguments that computes the line's result and waits for it.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Call = Callable[[], Any]


@dataclass
class Line:
    """One benchmark: the same result from every rival."""

    name: str
    target: float
    """tinytrace's time over the best rival's: at most this."""
    inputs: Callable[[], tuple[Any, ...]]
    jaxlike: Callable[..., Call]
    """(jax, jnp, inputs as that library's arrays) -> call"""
    torch: Callable[..., Call] | None = None
    numba: Callable[..., Call] | None = None
    numpy: Callable[..., Call] | None = None
    bytes: float = 0
    """Bytes that must be read and written, for the physical limit."""
    passes: int = 1
    """In how many passes over the same memory."""
    reads_only: bool = False
    """Next to nothing is written."""
    flops: float = 0
    quick: bool = False
    """In the subset that ends in three minutes."""
    tolerance: float = 2e-4
    compare: bool = True
    group: str = ""


@dataclass
class ProcessLine:
    """One benchmark of a whole process: `script` prints a number of seconds (or MiB) as its last line."""

    name: str
    target: float
    script: str
    """Formatted with `module`: `tinytrace` or `jax`."""
    unit: str = "s"
    quick: bool = False
    env: dict[str, str] = field(default_factory=dict)
    group: str = ""


LINES: list[Line | ProcessLine] = []


def add(line: Line | ProcessLine) -> None:
    """Put a line into the table."""
    LINES.append(line)
