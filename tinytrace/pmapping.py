"""`jax.pmap`: a function mapped over devices, of which there is one: over an axis of size 1.

On one device it is `vmap` over that axis, jitted, and that is what it is here, also in jaxprs, where JAX writes
`xla_pmap`. Longer axes are refused in JAX's words, and so are collectives over the named axis.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.jit import jit
from tinytrace.api.vmapping import vmap
from tinytrace.core.trees import tree_leaves, tree_map
from tinytrace.numpy import asarray, stack


class PmapFunction:
    """What `pmap` returns."""

    def __init__(self, fun: Callable[..., Any], in_axes: Any, out_axes: Any, statics: tuple[int, ...]) -> None:
        functools.update_wrapper(self, fun, updated=())
        self._fun, self._in_axes, self._out_axes, self._statics = fun, in_axes, out_axes, statics
        self._mapped = jit(self._over_one_device, static_argnums=statics)

    def _over_one_device(self, *args: Any, **kwargs: Any) -> Any:
        dynamic = [x for k, x in enumerate(args) if k not in self._statics]

        def with_statics(*mapped: Any, **mapped_kwargs: Any) -> Any:
            rest = iter(mapped)
            complete = [x if k in self._statics else next(rest) for k, x in enumerate(args)]
            return self._fun(*complete, **mapped_kwargs)

        return vmap(with_statics, in_axes=self._in_axes, out_axes=self._out_axes)(*dynamic, **kwargs)

    def _check(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Raise ValueError unless each mapped axis has size 1."""
        dynamic = [x for k, x in enumerate(args) if k not in self._statics]
        if not tree_leaves((dynamic, kwargs)):
            raise ValueError("pmap wrapped function must be passed at least one argument containing an array, got "
                             f"empty *args={args} and **kwargs={kwargs}")
        axes = self._in_axes if isinstance(self._in_axes, (tuple, list)) else [self._in_axes] * len(dynamic)
        pairs = [*zip(dynamic, axes, strict=False), *((x, 0) for x in kwargs.values())]
        for shape, axis in ((np.shape(leaf), axis) for x, axis in pairs if isinstance(axis, int)
                            for leaf in tree_leaves(x)):
            if not shape:
                raise ValueError(f"pmap was requested to map its argument along axis {axis}, which implies that its "
                                 f"rank should be at least {axis + 1}, but is only 0 (its shape is ())")
            if shape[axis] != 1:
                raise ValueError(f"compiling computation that requires {shape[axis]} logical devices, but only 1 XLA "
                                 f"devices are available (num_replicas={shape[axis]})")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._check(args, kwargs)
        return self._mapped(*args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Return the program before it is compiled, as `jit(f).lower` does."""
        self._check(args, kwargs)
        return self._mapped.lower(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        self._mapped.clear_cache()

    def __repr__(self) -> str:
        return f"<PmapFunction object at {id(self):#x}>"


def device_put_replicated(x: Any, devices: Sequence[Any]) -> Any:
    """Return a tree of arrays with an axis of the devices in front, along which they are repeated: of size 1.

    >>> device_put_replicated(np.float32([1, 2]), [None])
    Array([[1., 2.]], dtype=float32)
    """
    _check_devices(devices)
    return tree_map(lambda leaf: asarray(leaf)[None], x)


def device_put_sharded(shards: Sequence[Any], devices: Sequence[Any]) -> Any:
    """Return trees of arrays, one for each device, as one with an axis of the devices in front.

    Raises: ValueError when there is not one tree for each device.
    """
    _check_devices(devices)
    if len(shards) != len(devices):
        raise ValueError(f"len(shards) = {len(shards)} must equal len(devices) = {len(devices)}.")
    return tree_map(lambda *leaves: stack(leaves), *shards)


def _check_devices(devices: Sequence[Any]) -> None:
    if len(devices) != 1:
        raise ValueError(f"{len(devices)} devices: there is one, jax.devices()[0]")


def pmap(fun: Callable[..., Any], axis_name: Any = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: int | Sequence[int] = (), devices: Any = None, backend: str | None = None,
         axis_size: int | None = None, donate_argnums: Any = (), global_arg_shapes: Any = None) -> PmapFunction:
    """Return `fun` mapped over the devices: each argument has an axis of their number, which is 1.

    Raises, when it is called: ValueError for a longer axis. Source: `jax.pmap`.

    >>> pmap(lambda x: 2 * x)(np.float32([[1, 2]]))
    Array([[2., 4.]], dtype=float32)
    >>> pmap(lambda x: 2 * x)(np.float32([1, 2]))
    Traceback (most recent call last):
    ValueError: compiling computation that requires 2 logical devices, but only 1 XLA devices are available ...
    """
    numbers = static_broadcasted_argnums
    statics = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    return PmapFunction(fun, in_axes, out_axes, statics)
