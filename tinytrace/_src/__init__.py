"""`jax._src`: paths of JAX's own insides that documents and libraries import. Each leads to the real room, elsewhere.

Most are other names of modules, in the table here; the files beside this one are modules of JAX whose names are spread
over several rooms. What libraries of autumn 2024 import is there, and no more.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

HOMES = {
    "ad_checkpoint": "ad_checkpoint", "ad_util": "interpreters.ad_values", "api": "", "api_util": "api_util",
    "array": "core.array", "config": "config", "core": "core", "custom_batching": "custom_batching",
    "custom_derivatives": "custom_derivatives", "custom_transpose": "custom_transpose", "debugger": "breakpoints",
    "debugging": "debug", "effects": "control_flow.effects", "errors": "errors", "flatten_util": "flatten_util",
    "interpreters": "interpreters",
    "interpreters.ad": "interpreters.ad", "interpreters.batching": "interpreters.batching",
    "interpreters.mlir": "interpreters.mlir", "interpreters.partial_eval": "interpreters.partial_eval",
    "interpreters.pxla": "interpreters.pxla", "interpreters.xla": "interpreters.xla", "lax": "lax",
    "lax.control_flow": "lax", "lax.lax": "lax", "lax.linalg": "lax.linalg",
    "lib.mlir.dialects.func": "interpreters.no_mlir", "lib.mlir.dialects.hlo": "interpreters.stablehlo",
    "lib.mlir.ir": "interpreters.no_mlir", "lib.pytree": "lib.pytree", "lib.xla_client": "lib.xla_client",
    "lib.xla_extension": "lib.xla_extension", "linear_util": "extend.linear_util", "mesh": "sharding", "nn": "nn",
    "nn.functions": "nn", "nn.initializers": "nn.initializers", "numpy": "numpy", "numpy.lax_numpy": "numpy",
    "numpy.linalg": "numpy.linalg", "prng": "extend.random",
    "public_test_util": "testing.closeness", "random": "random", "scipy": "scipy",
    "sharding_impls": "sharding", "source_info_util": "extend.source_info_util", "stages": "stages",
    "typing": "typing", "util": "extend.functions",
}  # fmt: skip
"""Modules of JAX's insides, and the modules of tinytrace that they are."""


class _OtherNames(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers `import tinytrace._src.x` for the names of the table, and for what is inside of the modules they are.

    It is asked before Python looks for files: a module inside of one of them would be made a second time.
    """

    def find_spec(self, name: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        known = name.startswith(f"{__name__}.") and _home(name.removeprefix(f"{__name__}.")) is not None
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        home = _home(name.removeprefix(f"{__name__}."))
        sys.modules[name] = importlib.import_module(f"tinytrace.{home}".rstrip("."))


def _home(name: str) -> str | None:
    """Return the module of tinytrace that a module of JAX's insides is; None when it is none."""
    if name in HOMES:
        return HOMES[name]
    parent, _, leaf = name.rpartition(".")
    home = _home(parent) if parent else None
    inside = f"{home}.{leaf}" if home else None
    return inside if inside and importlib.util.find_spec(f"tinytrace.{inside}") is not None else None


sys.meta_path.insert(0, _OtherNames())
