"""tinytrace: JAX's idea, small enough to read and complete enough to use.

    import tinytrace as jax
    import tinytrace.numpy as jnp

A Python function is traced to a jaxpr, simplified, fused into C kernels, compiled and cached.
"""
from typing import TYPE_CHECKING, Any

from tinytrace import pure as pure  # first of all: it decides which modules take part

# isort: split
from tinytrace import ad_checkpoint as ad_checkpoint
from tinytrace import api as _api
from tinytrace import core as core
from tinytrace import custom_derivatives as custom_derivatives
from tinytrace import debug as debug
from tinytrace import dtypes as dtypes
from tinytrace import errors as errors
from tinytrace import lax as lax
from tinytrace import numpy as numpy
from tinytrace import tree as tree
from tinytrace import tree_util as tree_util
from tinytrace.api.autodiff import jvp, linear_transpose, linearize, vjp
from tinytrace.api.callbacks import effects_barrier, pure_callback
from tinytrace.api.checkpointing import checkpoint, checkpoint_policies, remat
from tinytrace.api.custom_rules import closure_convert, custom_gradient, custom_jvp, custom_vjp
from tinytrace.api.devices import (
    block_until_ready,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)
from tinytrace.api.gradients import grad, hessian, jacfwd, jacobian, jacrev, value_and_grad
from tinytrace.api.jit import jit
from tinytrace.api.jit_cache import clear_caches
from tinytrace.api.make_jaxpr import make_jaxpr
from tinytrace.api.named_scope import named_call, named_scope
from tinytrace.api.shape_evaluation import eval_shape
from tinytrace.api.shapes import ShapeDtypeStruct
from tinytrace.api.vmapping import vmap
from tinytrace.config import (
    check_tracer_leaks,
    checking_leaks,
    config,
    debug_infs,
    debug_nans,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    log_compiles,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    threefry_partitionable,
)
from tinytrace.core.basearray import Array
from tinytrace.core.compile_time import ensure_compile_time_eval
from tinytrace.core.dtypes import FLOAT0 as float0  # noqa: N811
from tinytrace.deprecated import NAMES as _DEPRECATED
from tinytrace.deprecated import deprecated as _deprecated
from tinytrace.own_code import note_imports as _note_imports
from tinytrace.util import lazy_names, lazy_submodules

if TYPE_CHECKING:
    from tinytrace import custom_batching as custom_batching
    from tinytrace import custom_transpose as custom_transpose
    from tinytrace import experimental as experimental
    from tinytrace import nn as nn
    from tinytrace import ops as ops
    from tinytrace import random as random
    from tinytrace import scipy as scipy
    from tinytrace import typing as typing
    from tinytrace.api.cache_view import cache as cache
    from tinytrace.api.expectations import expect as expect
    from tinytrace.api.export_c import export_c as export_c
    from tinytrace.api.show import show_rules as show_rules
    from tinytrace.api.show import show_stages as show_stages
    from tinytrace.as_jax import install_as_jax as install_as_jax
    from tinytrace.exporting import export as export
    from tinytrace.parsing import parse_jaxpr as parse_jaxpr

_SUBMODULES = (
    "api_util", "custom_batching", "custom_transpose", "distributed", "dlpack", "example_libraries", "experimental",
    "extend", "image", "interpreters", "lib", "monitoring", "nn", "ops", "profiler", "random", "scipy", "sharding",
    "stages", "testing", "typing", "util", "version",
)  # fmt: skip
_submodule = lazy_submodules(__name__, *_SUBMODULES)
_LATER = {
    "cache": "api.cache_view",
    "debug_key_reuse": "config",
    "debugger": "inspection.debugger.session",
    "default_device": "api.devices",
    "Device": "core.array",
    "device_put_replicated": "pmapping",
    "device_put_sharded": "pmapping",
    "enable_custom_vjp_by_custom_transpose": "config",
    "expect": "api.expectations",
    "explain": "inspection.lint",
    "explore": "inspection.explorer.explore",
    "export": "exporting",
    "export_c": "api.export_c",
    "host_count": "api.devices",
    "host_id": "api.devices",
    "host_ids": "api.devices",
    "install_as_jax": "as_jax",
    "jax2tf_associative_scan_reductions": "config",
    "legacy_prng_key": "config",
    "lint": "inspection.lint",
    "live_arrays": "api.live",
    "load_ipython_extension": "inspection.timeline",
    "lockstep": "inspection.lockstep",
    "make_array_from_callback": "api.arrays_from_parts",
    "make_array_from_process_local_data": "api.arrays_from_parts",
    "make_array_from_single_device_arrays": "api.arrays_from_parts",
    "make_mesh": "sharding",
    "NamedSharding": "sharding",
    "parse_jaxpr": "parsing",
    "pmap": "pmapping",
    "print_environment_info": "environment_info",
    "profile": "inspection.profiler",
    "Shard": "sharding",
    "show_rules": "api.show",
    "show_stages": "api.show",
    "shrink": "inspection.shrink",
    "softmax_custom_jvp": "config",
    "spmd_mode": "config",
    "transfer_guard": "config",
    "transfer_guard_device_to_device": "config",
    "transfer_guard_device_to_host": "config",
    "transfer_guard_host_to_device": "config",
    "unload_ipython_extension": "inspection.timeline",
}
_later = lazy_names(__name__, _LATER)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return _later(name)
    return _deprecated(name) if name in _DEPRECATED else _submodule(name)


if config.log:  # TINYTRACE_LOG
    _api.logs  # noqa: B018  (its import is what listens)

__version__ = "0.1.0"

__all__ = [
    "Array",
    "ShapeDtypeStruct",
    "ad_checkpoint",
    "block_until_ready",
    "cache",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "config",
    "core",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_infs",
    "debug_nans",
    "debugger",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "dtypes",
    "effects_barrier",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "expect",
    "explain",
    "explain_cache_misses",
    "explore",
    "export",
    "export_c",
    "float0",
    "grad",
    "hessian",
    "install_as_jax",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "lint",
    "local_device_count",
    "local_devices",
    "lockstep",
    "log_compiles",
    "make_jaxpr",
    "named_call",
    "named_scope",
    "nn",
    "no_tracing",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "ops",
    "parse_jaxpr",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "profile",
    "pure_callback",
    "random",
    "remat",
    "scipy",
    "show_rules",
    "show_stages",
    "shrink",
    "threefry_partitionable",
    "tree",
    "tree_util",
    "typing",
    "value_and_grad",
    "vjp",
    "vmap",
]

__all__ += sorted({*_LATER, *_SUBMODULES} - {*__all__, "load_ipython_extension", "unload_ipython_extension"})

_note_imports()  # before anybody can change what the modules hold


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
