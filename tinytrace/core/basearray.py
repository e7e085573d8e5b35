"""`jax.Array`, the type of everything that behaves as an array: what holds numbers, and tracers that stand for it.

It is an abstract base class: user code asks `isinstance(x, jax.Array)` and gets True outside and inside of `jit`,
`vmap` and `grad`. The concrete class is `core.array.Array`; that one and `core.trace.Tracer` are registered here.
Source: https://docs.jax.dev/en/latest/_autosummary/jax.Array.html.
"""
from __future__ import annotations

import abc
from typing import Any


class Array(abc.ABC):
    """The abstract type of arrays and tracers, for `isinstance` and annotations; operators come from `install_methods`.

    >>> import tinytrace as jax
    >>> jax.jit(lambda x: isinstance(x, jax.Array) * x)(2.0)
    Array(2., dtype=float32, weak_type=True)
    """

    __slots__ = ("__weakref__",)

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""

    @property
    @abc.abstractmethod
    def dtype(self) -> Any:
        """The type of the elements."""

    @property
    @abc.abstractmethod
    def ndim(self) -> int:
        """The number of axes."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number of elements."""

    @property
    @abc.abstractmethod
    def device(self) -> Any:
        """Where the array lives."""


Array.__module__ = "tinytrace"  # where users find it
