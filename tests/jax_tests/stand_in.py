"""What the tests of JAX 0.4.35 use of its insides, so that they run with `import jax` meaning tinytrace.

Their helpers (`jax._src.test_util` and the like) are JAX's own files, read from a checkout of its tag. These, and the
tests, import other insides: what tinytrace has of those leads there, and for the rest there is a stand-in that can be
imported and mentioned; whoever uses it gets `Inside`, which says which part of JAX a test depends on.
"""
from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import tinytrace
from tests.jax_tests.counterparts import COUNTERPARTS, NEWER_UFUNCS
from tinytrace import as_jax, errors, events, missing
from tinytrace.config import config, override
from tinytrace.core.array import Array
from tinytrace.core.dtypes import canonicalize_dtype, dtype_of, is_weak, result_type_and_weak, scalar_type_of
from tinytrace.environment import env_bool

OF_JAX = ("jax._src.test_util", "jax._src.public_test_util", "jax._src.internal_test_util", "jax._src.lax_reference")
"""Modules of JAX's that help to test, and hold nothing of what is tested."""


PACKAGES = ("jax._src", "jax._src.interpreters", "jax._src.lax", "jax._src.lax.control_flow", "jax._src.lib",
            "jax._src.numpy", "jax._src.scipy")
"""Of JAX's insides, those in which a name may be a module."""


SETTINGS = ("enable_checks", "numpy_rank_promotion", "default_prng_impl", "default_matmul_precision", "debug_key_reuse",
            "threefry_partitionable", "softmax_custom_jvp", "enable_custom_prng", "legacy_prng_key", "debug_infs")
"""Context managers of `jax` that tests enter; those that tinytrace lacks have no effect."""

SMALL = ("float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "int2", "int4",
         "uint2", "uint4")
WEAK_TYPES = [int, float, complex]
SMALL_FLOATS = [getattr(ml_dtypes, name) for name in SMALL if "float" in name]
INTEGERS = ["uint2", "uint4", "uint8", "uint16", "uint32", "uint64", "int2", "int4", "int8", "int16", "int32", "int64"]


def jax_type(dtype: Any, weak_type: bool) -> Any:
    """Return the node of the lattice of promotion for a dtype that is weak or not: a dtype, or a type of Python's."""
    return scalar_type_of(np.empty((), dtype)) if weak_type and dtype.kind != "b" else dtype


class Empty:
    """A cache of JAX's in which there is nothing: what tinytrace remembers, it remembers elsewhere."""

    @staticmethod
    def cache_clear() -> None:
        """There is nothing to clear."""


class Tokens:
    """What JAX waits for: here effects are done when a call returns."""

    @staticmethod
    def clear() -> None:
        """There is nothing to clear."""

    block_until_ready = clear


ADDED: dict[str, dict[str, Any]] = {
    "jax._src.array": {"ArrayImpl": Array},
    "jax._src.interpreters.mlir": {"_platforms_with_donation": ["cpu", "cuda", "rocm", "tpu"]},
    "jax._src.debugging": {"debug_print": tinytrace.debug.print, "debug_callback": tinytrace.debug.callback},
    "jax._src.dispatch": {"runtime_tokens": Tokens},
    "jax._src.xla_bridge": {"using_pjrt_c_api": lambda backend=None: False},
    "jax._src.core": {"UnexpectedTracerError": errors.UnexpectedTracerError},
    "jax._src.util": {"NumpyComplexWarning": np.exceptions.ComplexWarning},
    "jax._src.lax.control_flow": {"_initial_style_open_jaxpr": Empty, "_initial_style_jaxpr": Empty},
    "jax._src.lax.control_flow.common": {"_pad_jaxpr_constvars": Empty},
    "jax._src.dtypes": {
        "python_scalar_dtypes": {kind: np.dtype(kind) for kind in (bool, *WEAK_TYPES)},
        "_intn_dtypes": [np.dtype(getattr(ml_dtypes, name)) for name in SMALL if "int" in name],
        "_custom_float_types": SMALL_FLOATS, "_float8_dtypes": SMALL_FLOATS,
        "_default_types": {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64, "c": np.complex128},
        **{name: getattr(ml_dtypes, name) for name in SMALL},
        "canonicalize_dtype": lambda dtype, allow_extended_dtype=False: canonicalize_dtype(dtype),
        "bool_": np.bool_, "int_": np.int64, "uint": np.uint64, "float_": np.float64, "complex_": np.complex128,
        "_weak_types": WEAK_TYPES,
        "_jax_types": [np.dtype(x) for x in (
            bool, *(getattr(ml_dtypes, name, name) for name in INTEGERS), *SMALL_FLOATS, ml_dtypes.bfloat16, "float16",
            "float32", "float64", "complex64", "complex128")],
        "_jax_type": jax_type,
        "_dtype_and_weaktype": lambda x: (
            dtype_of(x, canonical=False), is_weak(x) or any(x is kind for kind in WEAK_TYPES)),
        "_lattice_result_type": result_type_and_weak,
    },
}  # fmt: skip
"""Names that the helpers look at."""


class Inside(NotImplementedError):
    """A test uses a part of JAX's insides that has no counterpart here."""


def install(source: pathlib.Path) -> None:
    """Let `import jax` mean tinytrace, with JAX's test helpers from the checkout `source`."""
    tinytrace.install_as_jax()
    sys.meta_path.insert(0, _Insides(source))
    jax = importlib.import_module("jax")
    jax.config = _config
    for name in SETTINGS:
        if not hasattr(jax, name):
            setattr(jax, name, _Setting(f"jax_{name}"))
    for name in NEWER_UFUNCS:
        if hasattr(np, name):
            setattr(np, name, functools.partial(getattr(np, name)))
    refuse = missing.absent

    def mention(module: str, name: str) -> Any:
        inside = module in ("tinytrace", "tinytrace.scipy") and missing.sentence(module, name) is not None
        if _Absent.collecting and (inside or module == "tinytrace.lax"):
            return absent(f"{module.replace('tinytrace', 'jax')}.{name}")
        return refuse(module, name)

    missing.absent = mention
    _count_what_happens(importlib.import_module("jax._src.test_util"))


# --- names that are not here -----------------------------------------------------------------------------------

class _Absent(type):
    """The type of stand-ins: classes, so that they can be bases and arguments of isinstance."""

    collecting = True
    """Are the tests being imported? Then what they make of stand-ins is one."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if _Absent.collecting:
            return absent(f"{cls.__doc__}()")
        raise Inside(f"{cls.__doc__} is a part of JAX's insides")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if _Absent.collecting:
            return absent(f"{cls.__doc__}.{name}")
        raise Inside(f"{cls.__doc__}.{name} is a part of JAX's insides")

    def __instancecheck__(cls, x: Any) -> bool:
        return False


def begin() -> None:
    """From now on a stand-in that is used says so: all tests have been imported."""
    _Absent.collecting = False


def absent(name: str) -> Any:
    """Return a stand-in for a name of JAX's insides: to mention, not to use."""
    return _Absent(name.rpartition(".")[2], (), {"__doc__": name})


class _Room(types.ModuleType):
    """A module of JAX's insides: what tinytrace has of it, and stand-ins."""

    def __init__(self, name: str, home: Any = None) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._home = home

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for table in (COUNTERPARTS, ADDED):
            if name in table.get(self.__name__, {}):
                return table[self.__name__][name]
        full = f"{self.__name__}.{name}"
        try:
            found = getattr(self._home, name)
            is_room = self.__name__ in PACKAGES and isinstance(found, types.ModuleType)
            if not missing.is_refused(found) and full not in PACKAGES and not is_room:
                return found
        except AttributeError:
            pass
        return importlib.import_module(full) if self.__name__ in PACKAGES else absent(full)


class _Insides(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers `import jax._src.x`, and `import jax.y` where tinytrace has no y."""

    def __init__(self, source: pathlib.Path) -> None:
        self.source = source

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
                  ) -> importlib.machinery.ModuleSpec | None:
        if name.startswith(OF_JAX):
            file = self.source / name.replace(".", "/")
            if file.is_dir():
                return importlib.util.spec_from_file_location(name, file / "__init__.py",
                                                              submodule_search_locations=[str(file)])
            return importlib.util.spec_from_file_location(name, file.with_suffix(".py"))
        inside = name.startswith(("jax._src", "jaxlib.", "jax.experimental.")) or name.count(".") > 0
        if not name.startswith(("jax.", "jaxlib.")) or not inside:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        if spec.name == "jax._src.config":
            return _config
        try:
            home = as_jax._module_of(spec.name)
        except (ModuleNotFoundError, AttributeError):
            home = None
        return _Room(spec.name, home) if home is None or spec.name.startswith("jax._src") else home

    def exec_module(self, module: types.ModuleType) -> None:
        pass


# --- settings --------------------------------------------------------------------------------------------------

class _Setting:
    """A setting as JAX's insides see it: `setting.value`, and `with setting(value):`."""

    def __init__(self, name: str, value: Any = None) -> None:
        self.name, self._value = name, value

    @property
    def value(self) -> Any:
        return _config._read(self.name) if self._value is None else self._value

    def __call__(self, value: Any = True) -> Any:
        field = self.name.removeprefix("jax_")
        return override(field, value) if field in config.values else _without_effect()


@contextlib.contextmanager
def _without_effect() -> Iterator[None]:
    """A block, or a function that is decorated, in which all is as it was."""
    yield


class _Settings(types.ModuleType):
    """`jax.config`, `jax._src.config`: tinytrace's settings, and JAX's others, remembered and without effect."""

    def __init__(self) -> None:
        super().__init__("jax._src.config")
        self._others: dict[str, Any] = {
            "jax_num_generated_cases": 10, "jax_test_dut": "", "jax_default_dtype_bits": "64",
            "jax_numpy_rank_promotion": "allow", "jax_enable_custom_prng": False, "jax_threefry_partitionable": False,
            "jax_default_prng_impl": "threefry2x32", "jax_random_seed_offset": 0, "jax_default_matmul_precision": None,
        }  # fmt: skip
        self.config = self
        self.FLAGS = self

    @property
    def values(self) -> dict[str, Any]:
        return {**self._others, **{f"jax_{name}": value for name, value in config.values.items()}}

    def _read(self, name: str) -> Any:
        field = name.removeprefix("jax_")
        return config.read(field) if field in config.values else self._others.get(f"jax_{field}", False)

    read = _read

    def update(self, name: str, value: Any) -> None:
        if name.removeprefix("jax_") in config.values:
            config.update(name, value)
        else:
            self._others[name] = value

    def parse_flags_with_absl(self) -> None:
        """Flags are not read here."""

    def bool_env(self, name: str, default: bool) -> bool:
        return env_bool(name, default)

    def int_flag(self, name: str, default: Any, *args: Any, **kwargs: Any) -> _Setting:
        return _Setting(name, default)

    string_flag = bool_flag = enum_flag = int_flag

    def int_env(self, name: str, default: int) -> int:
        return int(os.environ.get(name, default))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._read(name) if name.startswith("jax_") else _Setting(name)

    x64_enabled = property(lambda self: config.x64_enabled)


_config = _Settings()


# --- what the helpers count ------------------------------------------------------------------------------------

def _count_what_happens(helpers: Any) -> None:
    """Let the helpers that count traces, compilations and misses hear tinytrace's events."""

    @contextlib.contextmanager
    def counting(*kinds: str) -> Iterator[list[int]]:
        count = [0]

        def hear(event: events.Event) -> None:
            count[0] += event.kind in kinds

        with events.listening(hear):
            yield count

    helpers.count_jit_tracing_cache_miss = lambda: counting("trace")
    helpers.count_jit_and_pmap_lowerings = helpers.count_jit_compilation_cache_miss = lambda: counting("load")
    helpers.count_primitive_compiles = helpers.count_cached_compilation_cache_miss = lambda: counting("load")
    helpers.count_pjit_cpp_cache_miss = lambda: counting("miss")
    type(helpers.dtypes).custom_floats = [np.dtype(ml_dtypes.bfloat16)]  # floats of 8 bits are not here
    helpers.set_host_platform_device_count = lambda count: _without_effect()  # there is one
    helpers.device_under_test = lambda: "cpu"
    helpers._get_device_tags = lambda: {"cpu"}
    helpers.dispatch.xla_primitive_callable = _EagerCompilations()


class _EagerCompilations:
    """`cache_info().misses`: how many programs have been loaded or compiled, for operations outside of `jit` too."""

    def __init__(self) -> None:
        self.misses = 0
        events.listeners.append(self._hear)

    def _hear(self, event: events.Event) -> None:
        self.misses += event.kind == "load"

    def cache_info(self) -> _EagerCompilations:
        return types.SimpleNamespace(misses=self.misses)  # type: ignore[return-value]

    def cache_clear(self) -> None:
        """Nothing is cleared, for only differences are looked at."""
