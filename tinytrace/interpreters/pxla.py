"""`jax.interpreters.pxla`: programs on several devices. There is one, so what is here says that there is no mesh."""
from __future__ import annotations

import collections
from typing import Any

from tinytrace.control_flow.xla_pmap import xla_pmap_p as xla_pmap_p
from tinytrace.missing import DEVICES, refused
from tinytrace.pmap_sharding import Chunked as Chunked
from tinytrace.pmap_sharding import NoSharding as NoSharding
from tinytrace.pmap_sharding import Replicated as Replicated
from tinytrace.pmap_sharding import ShardedAxis as ShardedAxis
from tinytrace.pmap_sharding import ShardingSpec as ShardingSpec
from tinytrace.pmap_sharding import Unstacked as Unstacked
from tinytrace.pmap_sharding import spec_to_indices as spec_to_indices
from tinytrace.sharding import Mesh, PartitionSpec
from tinytrace.util import lazy_names

__getattr__ = lazy_names("tinytrace", dict.fromkeys(
    ("are_op_shardings_equal", "is_op_sharding_replicated", "op_sharding_to_indices"), "gspmd_sharding"), __name__)

MapTracer = refused("jax.interpreters.pxla.MapTracer", DEVICES)
global_result_handlers: dict[type, object] = {}
MeshAxisName = Any
ArrayMapping = collections.OrderedDict[MeshAxisName, int]
Index = int | slice | tuple[int | slice, ...]


def array_mapping_to_axis_resources(array_mapping: ArrayMapping) -> PartitionSpec:
    """Return the spec of an array, given along which of its axes each axis of the mesh lies.

    >>> array_mapping_to_axis_resources(collections.OrderedDict(a=0, b=2))
    PartitionSpec('a', None, 'b')
    """
    names: list[list[Any]] = [[] for _ in range(max(array_mapping.values(), default=-1) + 1)]
    for name, axis in array_mapping.items():
        names[axis].append(name)
    return PartitionSpec(*(None if not x else x[0] if len(x) == 1 else tuple(x) for x in names))


class _Environment:
    """The mesh that is in use: the empty one."""

    physical_mesh = Mesh((), ())


class _ThreadResources:
    env = _Environment()


thread_resources = _ThreadResources()
