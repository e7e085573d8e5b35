"""`jax.interpreters.pxla`: programs on several devices. There is one, so what is here says that there is no mesh."""
from __future__ import annotations

from tinytrace.control_flow.xla_pmap import xla_pmap_p as xla_pmap_p
from tinytrace.missing import DEVICES, refused
from tinytrace.sharding import Mesh
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)

MapTracer = refused("jax.interpreters.pxla.MapTracer", DEVICES)
global_result_handlers: dict[type, object] = {}


class _Environment:
    """The mesh that is in use: the empty one."""

    physical_mesh = Mesh((), ())


class _ThreadResources:
    env = _Environment()


thread_resources = _ThreadResources()
