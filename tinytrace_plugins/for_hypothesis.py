"""Hypothesis's entry point: `st.from_type(jax.Array)` draws arrays, as soon as tinytrace is imported, and no sooner.

Source: https://hypothesis.readthedocs.io/en/latest/extensions.html ("Hypothesis integration via entry points").
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any


def setup() -> None:
    """Register the types of tinytrace now if it is imported, otherwise when it is."""
    if "tinytrace" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _Waiting())


class _Waiting(importlib.abc.MetaPathFinder):
    """Finds nothing but `tinytrace`, once, and lets its loader register the types behind the package's own code."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None
                  ) -> importlib.machinery.ModuleSpec | None:
        if name != "tinytrace":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenRegister(spec.loader)
        return spec


class _ThenRegister(importlib.abc.Loader):
    """Loads by another loader, then registers."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        _register()

    def __getattr__(self, name: str) -> Any:  # what else a loader has: get_source, is_package, ...
        return getattr(self.loader, name)


def _register() -> None:
    """Say for each type which strategy draws it; strategies are imported when they are first asked for."""
    from hypothesis import strategies as st  # noqa: PLC0415  (it is being imported when `setup` is called)

    tinytrace = sys.modules["tinytrace"]
    types = {"arrays": tinytrace.Array, "avals": tinytrace.core.ShapedArray, "jaxprs": tinytrace.core.ClosedJaxpr}
    for name, kind in types.items():
        st.register_type_strategy(kind, functools.partial(_strategy, name))


def _strategy(name: str, _: type) -> Any:
    return getattr(importlib.import_module("tinytrace.testing"), name)()
