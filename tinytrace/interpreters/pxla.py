"""`jax.interpreters.pxla`: programs on several devices. There is one, so what is here says that there is no mesh, and
places arguments and results on the one device.
"""
from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytrace.api.arrays_from_parts import make_array_from_single_device_arrays
from tinytrace.api.devices import device_put
from tinytrace.control_flow.xla_pmap import xla_pmap_p as xla_pmap_p
from tinytrace.core.array import Array
from tinytrace.core.avals import ShapedArray, aval_of
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


# --- arguments and results -----------------------------------------------------------------------------------------

Handler = Callable[[Sequence[Any]], Any]


def shard_args(shardings: Sequence[Any], layouts: Sequence[Any], args: Sequence[Any], canonicalize: bool = True
               ) -> list[Any]:
    """Return arguments as arrays that lie where the shardings say."""
    return [device_put(x if isinstance(x, Array) else np.asarray(x, aval_of(x).dtype), sharding)
            for x, sharding in zip(args, shardings, strict=True)]


def _array_handler(aval: ShapedArray, sharding: Any, committed: bool) -> Handler:
    return lambda parts: make_array_from_single_device_arrays(aval.shape, sharding, parts)


global_result_handlers: dict[type, Callable[[Any, Any, bool], Handler]] = {ShapedArray: _array_handler}
"""By type of type: what makes results of their parts."""


def global_aval_to_result_handler(aval: Any, out_sharding: Any, committed: bool) -> Handler:
    """Return what makes a result of a type of its parts, one for each device.

    Raises: TypeError for a type that no `global_result_handlers` knows.
    """
    if type(aval) not in global_result_handlers:
        raise TypeError(f"No pxla_result_handler for type: {type(aval)}")
    return global_result_handlers[type(aval)](aval, out_sharding, committed)


class ResultsHandler:
    """What makes all results of their parts: call it."""

    def __init__(self, handlers: Sequence[Handler], out_shardings: Sequence[Any], out_avals: Sequence[Any]) -> None:
        self.handlers, self.out_shardings, self.out_avals = handlers, out_shardings, out_avals

    def __call__(self, out_bufs: Sequence[Sequence[Any]]) -> list[Any]:
        return [handler(parts) for handler, parts in zip(self.handlers, out_bufs, strict=True)]


def global_avals_to_results_handler(global_out_avals: Sequence[Any], shardings: Sequence[Any], committed: bool
                                    ) -> ResultsHandler:
    """Return what makes results of these types of their parts."""
    handlers = [global_aval_to_result_handler(aval, sharding, committed)
                for aval, sharding in zip(global_out_avals, shardings, strict=True)]
    return ResultsHandler(handlers, shardings, global_out_avals)


class _Environment:
    """The mesh that is in use: the empty one."""

    physical_mesh = Mesh((), ())


class _ThreadResources:
    env = _Environment()


thread_resources = _ThreadResources()
