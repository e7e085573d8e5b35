"""Meshes: devices in an array whose axes have names. One device makes meshes all of whose axes have size 1.

`jax.sharding` has these names; a mesh of more devices is refused.
"""
from __future__ import annotations

import collections
import math
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from tinytrace.core.array import CPU, Device
from tinytrace.missing import DEVICES
from tinytrace.records import NamedTuple


class Mesh:
    """Devices in an array whose axes have names; here of one device, or of none.

    In a `with` block it is the mesh of the specs that stand alone in `lax.with_sharding_constraint`.

    Raises: ValueError for more devices, and when there is not one name for each axis.

    >>> mesh = Mesh([CPU], ("x",))
    >>> mesh.size, mesh.axis_names, mesh
    (1, ('x',), Mesh(device_ids=array([0]), axis_names=('x',)))
    """

    def __init__(self, devices: Any, axis_names: Any, **options: Any) -> None:
        self.devices = np.array(devices, dtype=object)
        self.axis_names = tuple(axis_names) if isinstance(axis_names, (tuple, list)) else (axis_names,)
        if self.devices.size > 1:
            raise ValueError(f"a mesh of {self.devices.size} devices: {DEVICES}")
        if not self.empty and self.devices.ndim != len(self.axis_names):
            raise ValueError("Mesh requires the ndim of its first argument (`devices`) to equal the length of its "
                             f"second argument (`axis_names`), but got devices.ndim == {self.devices.ndim} and "
                             f"len(axis_names) == {len(self.axis_names)}.")

    is_multi_process = False

    @property
    def empty(self) -> bool:
        """Is it of no devices?"""
        return self.devices.size == 0

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """The axes: pairs of a name and a size."""
        return tuple(zip(self.axis_names, self.devices.shape, strict=False))

    @property
    def shape(self) -> collections.OrderedDict[Any, int]:
        """The sizes of the axes by name."""
        return collections.OrderedDict(self.shape_tuple)

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return tuple(self.devices.shape)

    @property
    def size(self) -> int:
        """How many devices: 1, or 0."""
        return math.prod(self.devices.shape)

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The numbers of the devices, where they stand in the mesh."""
        return np.zeros(self.devices.shape, int)

    @property
    def local_mesh(self) -> Mesh:
        """The part of this process: all of it."""
        return self

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process: all of them."""
        return list(self.devices.flat)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        return AbstractMesh(self.shape_tuple)

    def __enter__(self) -> Mesh:
        meshes_in_use.stack.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        meshes_in_use.stack.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self.shape_tuple == other.shape_tuple

    def __hash__(self) -> int:
        return hash(self.shape_tuple)

    def __repr__(self) -> str:
        return f"Mesh(device_ids={self.device_ids!r}, axis_names={self.axis_names!r})" if self.size else "Mesh()"

    def __str__(self) -> str:
        return f"Mesh({', '.join(f'{name!r}: {size}' for name, size in self.shape_tuple)})"


def _lacks(name: str) -> Any:
    """Return a property that refuses to answer."""
    def refuse(self: Any) -> Any:
        raise ValueError(f"AbstractMesh does not implement {name}")

    return property(refuse)


class AbstractMesh:
    """The axes of a mesh without its devices: names and sizes, whatever devices there are.

    A NamedSharding over one says how arrays would lie; nothing can be put there.

    >>> mesh = AbstractMesh((("a", 2), ("b", 3)))
    >>> mesh.size, mesh.axis_names, mesh
    (6, ('a', 'b'), AbstractMesh((('a', 2), ('b', 3))))
    """

    def __init__(self, shape_tuple: tuple[tuple[Any, int], ...]) -> None:
        self.shape_tuple = shape_tuple

    axis_names = property(lambda self: tuple(name for name, _ in self.shape_tuple))
    axis_sizes = property(lambda self: tuple(size for _, size in self.shape_tuple))
    shape = property(lambda self: collections.OrderedDict(self.shape_tuple))
    size = property(lambda self: math.prod(self.axis_sizes) if self.shape_tuple else 0)
    empty = property(lambda self: self.size == 0)

    devices, device_ids, is_multi_process = _lacks("devices"), _lacks("device_ids"), _lacks("is_multi_process")
    local_devices, local_mesh = _lacks("local_devices"), _lacks("local_mesh")

    def __enter__(self) -> AbstractMesh:
        raise RuntimeError("AbstractMesh is not a context manager")

    def __exit__(self, *error: Any) -> None:
        raise RuntimeError("AbstractMesh is not a context manager")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self.shape_tuple == other.shape_tuple

    def __hash__(self) -> int:
        return hash(self.shape_tuple)

    def __repr__(self) -> str:
        return f"AbstractMesh({self.shape_tuple})"


def make_mesh(axis_shapes: Sequence[int], axis_names: Sequence[Any], *,
              devices: Sequence[Device] | None = None) -> Mesh:
    """Return a Mesh of the one device, all of whose axes have size 1.

    Raises: ValueError for more devices than there are.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.make_mesh.html.

    >>> print(make_mesh((1, 1), ("data", "model")))
    Mesh('data': 1, 'model': 1)
    """
    available = [CPU] if devices is None else list(devices)
    if math.prod(axis_shapes) > len(available):
        raise ValueError(f"Number of devices {len(available)} must be >= the product of mesh_shape "
                         f"{tuple(axis_shapes)}")
    return Mesh(np.array(available[:math.prod(axis_shapes)], dtype=object).reshape(axis_shapes), tuple(axis_names))


class ResourceEnv(NamedTuple):
    """The mesh that was in use where an equation was written."""

    mesh: Mesh

    def __repr__(self) -> str:
        return f"ResourceEnv(mesh={self.mesh})"


class _MeshesInUse(threading.local):
    """The meshes whose `with` blocks this thread is in, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[Mesh] = []

    @property
    def innermost(self) -> Mesh:
        """The mesh of the block; of no devices outside of all blocks."""
        return self.stack[-1] if self.stack else Mesh((), ())


meshes_in_use = _MeshesInUse()
