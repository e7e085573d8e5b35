"""`install_as_jax()`: from then on `import jax` means tinytrace, for a script and the libraries that it imports.

    import tinytrace
    tinytrace.install_as_jax()
    import jax, optax

`jax.x.y` is the module `tinytrace.x.y`, the same object under two names; `jax` itself is a module of its own, for it
says that it is version 0.4.35, which libraries ask about. `python -m tinytrace run SCRIPT` does the same.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
import types
from collections.abc import Iterable, Sequence
from typing import Any

VERSION = "0.4.35"
"""Of the JAX that tinytrace is held to."""


def install_as_jax() -> None:
    """Let `import jax` mean tinytrace in this process; to call it again changes nothing.

    Raises: RuntimeError when JAX itself has been imported already.

    >>> import tinytrace
    >>> tinytrace.install_as_jax()
    >>> import jax
    >>> jax.__version__, jax.numpy is tinytrace.numpy
    ('0.4.35', True)
    """
    found = sys.modules.get("jax")
    if isinstance(found, _Jax):
        return
    if found is not None:
        raise RuntimeError("jax has been imported already, and others may hold its functions: call install_as_jax() "
                           "before the first import of jax, or of a library that imports it")
    sys.meta_path.insert(0, _Finder())


class _Jax(types.ModuleType):
    """The module `jax`: the names of tinytrace, and JAX's version."""

    def __init__(self, name: str) -> None:
        super().__init__(name, sys.modules["tinytrace"].__doc__)
        self.__path__: list[str] = []
        self.__version__ = VERSION
        self.__version_info__ = tuple(map(int, VERSION.split(".")))
        self.version = _version_module("jax.version")

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["tinytrace"], name)

    def __repr__(self) -> str:
        return "<module 'jax' (tinytrace)>"

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(sys.modules["tinytrace"])})


def _version_module(name: str) -> types.ModuleType:
    module = types.ModuleType(name, "The version of JAX that tinytrace is held to.")
    vars(module).update(__version__=VERSION, __version_info__=tuple(map(int, VERSION.split("."))),
                        _version=VERSION, _release_version=VERSION, __path__=[])
    return module


_MADE = {"jax": _Jax, "jax.version": _version_module, "jaxlib": _version_module, "jaxlib.version": _version_module}
"""Modules that are not tinytrace's, by name."""
_OURS = {"jax": "tinytrace", "jaxlib": "tinytrace._src.lib"}
"""Where the modules inside a package are."""


Context = importlib.metadata.DistributionFinder.Context
_ANY = Context()


class _Finder(importlib.metadata.DistributionFinder, importlib.abc.Loader):
    """Answers `import jax.x` with the module `tinytrace.x`, and questions for the versions of jax and jaxlib."""

    def find_spec(self, name: str, path: Sequence[str] | None = None,
                  target: types.ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name.split(".")[0] not in _OURS:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name in _MADE)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return _MADE[spec.name](spec.name) if spec.name in _MADE else None

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        if name not in _MADE:
            sys.modules[name] = _module_of(name)

    def find_distributions(self, context: Context = _ANY) -> Iterable[importlib.metadata.Distribution]:
        return [_Distribution(name) for name in _OURS if context.name == name]


def _module_of(name: str) -> types.ModuleType:
    """Return the module of tinytrace that stands for the module `name` of JAX.

    Raises: ModuleNotFoundError, saying what to do, when there is none.
    """
    root, _, rest = name.partition(".")
    ours = f"{_OURS[root]}.{rest}"
    if importlib.util.find_spec(ours) is not None:
        return importlib.import_module(ours)
    parent, _, leaf = ours.rpartition(".")
    value = getattr(importlib.import_module(parent), leaf, None)
    if value is None:
        raise ModuleNotFoundError(f"No module named {name!r}: tinytrace has none (its documentation "
                                  "lists what it lacks of JAX)", name=name)
    return value if isinstance(value, types.ModuleType) else _module_around(name, value)


def _module_around(name: str, value: Any) -> types.ModuleType:
    """Return a module with the attributes of an object that is a module in JAX."""
    module = types.ModuleType(name, getattr(value, "__doc__", None))
    vars(module).update({key: getattr(value, key) for key in dir(value) if not key.startswith("__")})
    return module


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata.version("jax")` finds."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{self._name} is tinytrace here, and has no file {path}")
