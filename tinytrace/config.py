"""The settings of tinytrace: one object, `config`, and the context managers that override it for one thread.

Each setting is one line of `Config`, read as an attribute (`config.enable_x64`). Its process-wide value comes
from an environment variable or the default, and `config.update("jax_enable_x64", True)` changes it; the prefixes
`jax_` and `tinytrace_` of the public names are optional everywhere. A context manager such as
`enable_x64` overrides it for the current thread only. This works by what `threading.local` does anyway: a class
attribute is the process's value, an instance attribute is this thread's override, and one attribute read finds
the right one.

Source: the options and their names are JAX's (https://docs.jax.dev/en/latest/config_options.html).
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from tinytrace._dispatch import forget, set_paused
from tinytrace.call_contexts import PAUSING, enter_context, leave_context
from tinytrace.environment import env_bool, env_choice, env_int, env_optional

PRECISIONS = ("default", "high", "highest", "bfloat16", "tensorfloat32", "float32")
PRNG_IMPLS = ("threefry2x32", "rbg", "unsafe_rbg")
GUARDS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
TRACEBACK_FILTERING = ("off", "tracebackhide", "remove_frames", "auto", "quiet_remove_frames")


class Config(threading.local):
    """Every setting with its process-wide value; see the module's docstring for how overrides work."""

    # 64-bit types exist; when off, they are truncated to 32 bits.
    enable_x64: bool = env_bool("JAX_ENABLE_X64", False)
    # 'strict' refuses implicit promotion between array dtypes.
    numpy_dtype_promotion: str = env_choice("JAX_NUMPY_DTYPE_PROMOTION", "standard", ("standard", "strict"))
    # The generator of keys that are made without naming one, and of raw words.
    default_prng_impl: str = env_choice("JAX_DEFAULT_PRNG_IMPL", "threefry2x32", PRNG_IMPLS)
    # Threefry hashes each position of a result by itself, which gives other random bits.
    threefry_partitionable: bool = env_bool("JAX_THREEFRY_PARTITIONABLE", False)
    # Raise FloatingPointError when an operation gives NaN, or an infinity.
    debug_nans: bool = env_bool("JAX_DEBUG_NANS", False)
    debug_infs: bool = env_bool("JAX_DEBUG_INFS", False)
    # 'warn' or 'raise' where NumPy's functions add leading dimensions to an array.
    numpy_rank_promotion: str = env_choice("JAX_NUMPY_RANK_PROMOTION", "allow", ("allow", "warn", "raise"))
    # The precision of products that name none: it is printed; None says nothing.
    default_matmul_precision: str | None = env_optional("JAX_DEFAULT_MATMUL_PRECISION", PRECISIONS)
    # Check every program that is traced: scoping and types.
    enable_checks: bool = env_bool("JAX_ENABLE_CHECKS", False)
    # Tracing a function anew is an error.
    no_tracing: bool = env_bool("JAX_NO_TRACING", False)
    # `PRNGKey` makes typed keys.
    enable_custom_prng: bool = env_bool("JAX_ENABLE_CUSTOM_PRNG", False)
    # Keys that are raw words are warned of, or refused, by the functions of `jax.random`.
    legacy_prng_key: str = env_choice("JAX_LEGACY_PRNG_KEY", "allow", ("allow", "warn", "error"))
    # `nn.softmax` has a derivative rule of its own.
    softmax_custom_jvp: bool = env_bool("JAX_SOFTMAX_CUSTOM_JVP", False)
    # Cotangents of a custom_vjp function's backward rule may have any shapes.
    custom_vjp_disable_shape_check: bool = env_bool("JAX_CUSTOM_VJP_DISABLE_SHAPE_CHECK", False)
    # Run jitted functions op by op in Python.
    disable_jit: bool = env_bool("JAX_DISABLE_JIT", False)
    # A typed key that is used twice is an error.
    debug_key_reuse: bool = env_bool("JAX_DEBUG_KEY_REUSE", False)
    # Compile soon and not well: for programs that run once on few numbers, as those of tests do.
    disable_most_optimizations: bool = env_bool("JAX_DISABLE_MOST_OPTIMIZATIONS", False)
    # Raise when a tracer outlives its trace.
    check_tracer_leaks: bool = env_bool("JAX_CHECK_TRACER_LEAKS", False)
    # Which frames of tracebacks are shown; see `tracebacks`.
    traceback_filtering: str = env_choice("JAX_TRACEBACK_FILTERING", "auto", TRACEBACK_FILTERING)

    # Checked, and without effect on one device with one memory.
    spmd_mode: str = env_choice("JAX_SPMD_MODE", "allow_jit", ("allow_all", "allow_jit"))
    transfer_guard: str | None = env_optional("JAX_TRANSFER_GUARD", GUARDS)
    transfer_guard_host_to_device: str | None = env_optional("JAX_TRANSFER_GUARD_HOST_TO_DEVICE", GUARDS)
    transfer_guard_device_to_device: str | None = env_optional("JAX_TRANSFER_GUARD_DEVICE_TO_DEVICE", GUARDS)
    transfer_guard_device_to_host: str | None = env_optional("JAX_TRANSFER_GUARD_DEVICE_TO_HOST", GUARDS)
    jax2tf_associative_scan_reductions: bool = env_bool("JAX2TF_ASSOCIATIVE_SCAN_REDUCTIONS", False)

    # Compiled `+ - * / sqrt` agree with the interpreter bit for bit: no fused multiply-add.
    exact: bool = env_bool("TINYTRACE_EXACT", False)
    # Short programs on small arrays are answered by loops that are there, with the bits of compiled ones.
    ready_loops: bool = env_bool("TINYTRACE_READY_LOOPS", True)
    # A step down the failure ladder (no disk, no compiler) raises instead of warning.
    strict: bool = env_bool("TINYTRACE_STRICT", False)
    # After every pass the program is verified, and run in NumPy to see that it gives what it gave before.
    verify: bool = env_bool("TINYTRACE_VERIFY", False)
    # Where compiled programs are kept; empty means the user's cache home.
    cache_dir: str = os.environ.get("TINYTRACE_CACHE_DIR", "")
    # A second directory of compiled programs, which is only read: that of a class or a cluster.
    shared_cache: str = os.environ.get("TINYTRACE_SHARED_CACHE", "")
    # The store is pruned, oldest use first, when it grows over this many MiB.
    cache_mib: int = env_int("TINYTRACE_CACHE_MIB", 512)
    # Machine code in memory is given up, oldest first, when it grows over this many MiB; it can be loaded again.
    memory_mib: int = env_int("TINYTRACE_MEMORY_MIB", 512)
    # The C compiler to run; empty means the first of gcc and cc that is found.
    compiler: str = os.environ.get("CC", "")
    # Seconds after which a compiler that has not finished is stopped.
    compile_timeout: int = env_int("TINYTRACE_COMPILE_TIMEOUT", 300)

    # Log why functions are traced again, and what is traced and compiled, in the words of JAX.
    explain_cache_misses: bool = env_bool("JAX_EXPLAIN_CACHE_MISSES", False)
    log_compiles: bool = env_bool("JAX_LOG_COMPILES", False)
    # What else is logged: some of trace, cache, compile, passes, with commas.
    log: str = os.environ.get("TINYTRACE_LOG", "")

    @property
    def checks_results(self) -> bool:
        """Whether results are looked at for NaNs or infinities: then no call is answered by what was learnt."""
        seen = self if _overrides else Config  # a thread's own values take 100 ns each to read, the process's 10
        return seen.debug_nans or seen.debug_infs

    def update(self, name: str, value: Any) -> None:
        """Set a setting for the whole process; a thread inside an override of it keeps its own value.

        Raises: AttributeError for an unknown name, TypeError or ValueError for a value that does not fit.

        >>> config.update("jax_numpy_dtype_promotion", "standard")
        """
        if name.removeprefix("jax_") in SETTLED:
            _check_settled(name.removeprefix("jax_"), value)
            return
        field = _field(name)
        _check(field, value)
        with _lock:
            setattr(Config, field, value)
            _publish()

    def read(self, name: str) -> Any:
        """The value of a setting as this thread sees it; AttributeError for an unknown name."""
        settled = SETTLED.get(name.removeprefix("jax_"))
        return settled[0] if settled else getattr(self, _field(name))

    @property
    def values(self) -> dict[str, Any]:
        """All settings by name, as this thread sees them."""
        return {name: getattr(self, name) for name in _TYPES}

    def __getattr__(self, name: str) -> Any:  # only for what is not an attribute: JAX's names
        if name in ("config_with_absl", "parse_flags_with_absl"):
            return getattr(importlib.import_module("tinytrace.absl_flags"), name)
        field = "enable_x64" if name == "x64_enabled" else name.removeprefix("jax_")
        if field in _TYPES:
            return getattr(self, field)
        if field in SETTLED and name != field:
            return SETTLED[field][0]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"settings are changed by config.update({name!r}, {value!r}) or by a context manager")


config = Config()

# Settings that change what a trace records or what it compiles to: a cache of traces must have them in its key.
TRACE_FIELDS = (
    "enable_x64", "numpy_dtype_promotion", "debug_nans", "disable_jit", "check_tracer_leaks", "exact",
    "default_prng_impl", "threefry_partitionable", "debug_infs", "numpy_rank_promotion", "default_matmul_precision",
    "enable_custom_prng", "softmax_custom_jvp", "debug_key_reuse", "disable_most_optimizations",
)  # fmt: skip

_TYPES: dict[str, type] = {name: type(getattr(Config, name)) for name in Config.__annotations__}
_GUARDS = [name for name in _TYPES if name.startswith("transfer_guard")]
CHOICES: dict[str, tuple[str, ...]] = {
    "numpy_dtype_promotion": ("standard", "strict"), "traceback_filtering": TRACEBACK_FILTERING,
    "default_prng_impl": PRNG_IMPLS, "numpy_rank_promotion": ("allow", "warn", "raise"),
    "default_matmul_precision": PRECISIONS, "legacy_prng_key": ("allow", "warn", "error"),
    "spmd_mode": ("allow_all", "allow_jit"), **dict.fromkeys(_GUARDS, GUARDS),
}
_MAY_BE_NONE = {"default_matmul_precision", *_GUARDS}
_ONE_PLATFORM = "there is one platform, the CPU, with one device"
_FOR_XLA = "it steers XLA"
SETTLED: dict[str, tuple[Any, tuple[Any, ...] | None, str]] = {
    "compilation_cache_dir": (None, None, _FOR_XLA),
    "persistent_cache_min_compile_time_secs": (None, None, _FOR_XLA),
    "persistent_cache_min_entry_size_bytes": (None, None, _FOR_XLA),
    "include_full_tracebacks_in_locations": (None, None, _FOR_XLA),
    "cpu_collectives_implementation": (None, None, _FOR_XLA),
    "platforms": ("cpu", (None, "", "cpu"), _ONE_PLATFORM),
    "platform_name": ("cpu", ("", "cpu"), _ONE_PLATFORM),
    "default_device": (None, (None,), _ONE_PLATFORM),
    "enable_custom_vjp_by_custom_transpose": (False, (False,), "a custom_vjp function has one form"),
    "dynamic_shapes": (False, (False, True), "ragged arrays need no setting, and there are no other such shapes"),
    "enable_compilation_cache": (True, (True,), "programs are always kept on disk, in TINYTRACE_CACHE_DIR"),
    "default_dtype_bits": ("64", ("64",), "set jax_enable_x64"),
}
"""JAX's settings that have one value here: what it reads, what may be written (None: anything), and why no more."""
_lock = threading.Lock()
_overrides = _watchers = 0  # context managers, and those who see all calls, over all threads
_process_context: tuple[Any, ...] = ()


def trace_context() -> tuple[Any, ...]:
    """The values of `TRACE_FIELDS` as this thread sees them: the part of a trace's cache key that is configuration.

    >>> with enable_x64(True):
    ...     trace_context() == trace_context()
    True
    """
    # Called at every dispatch: while nobody overrides anything, one shared tuple is the answer.
    return _process_context if not _overrides else tuple(getattr(config, name) for name in TRACE_FIELDS)


def x64_enabled() -> bool:
    """Return `config.enable_x64`, in a tenth of the time while no thread overrides anything."""
    return config.enable_x64 if _overrides else Config.enable_x64


def _publish() -> None:
    global _process_context
    _process_context = tuple(getattr(Config, name) for name in TRACE_FIELDS)
    forget()  # what the hit path has learnt was learnt under the old settings
    _pause()


def _pause() -> None:
    """Let Python see every call while somebody watches, or while settings make each call a special case."""
    set_paused(_watchers > 0 or any(getattr(Config, name) for name in PAUSING))


_publish()


def let_python_see_calls(on: bool) -> None:
    """Answer no call without Python, in any thread, until this is called once more: somebody watches."""
    global _watchers
    with _lock:
        _watchers += 1 if on else -1
        _pause()


def override(name: str, value: Any) -> AbstractContextManager[None]:
    """A context manager that sets one setting for the current thread while it is open."""
    field = _field(name)
    _check(field, value)
    return _override(field, value)


@contextmanager
def _override(name: str, value: Any) -> Iterator[None]:
    here = config.__dict__  # this thread's overrides: what threading.local gives each thread
    leave_context()
    had_override, before = name in here, here.get(name)
    _count_overrides(+1)
    here[name] = value
    enter_context(here)
    try:
        yield
    finally:
        leave_context()  # a Ctrl-C that comes now makes calls slow, not wrong
        if had_override:
            here[name] = before
        else:
            del here[name]
        _count_overrides(-1)
        enter_context(here)


def _count_overrides(step: int) -> None:
    global _overrides
    with _lock:
        _overrides += step


def _field(name: str) -> str:
    """The attribute that an option's public name stands for: `jax_enable_x64` is `enable_x64`."""
    field = name.removeprefix("jax_").removeprefix("tinytrace_")
    if field not in _TYPES:
        raise AttributeError(f"Unrecognized config option: {name}")
    return field


def _check(name: str, value: Any) -> None:
    if value is None and name in _MAY_BE_NONE:
        return
    if name in CHOICES:
        if type(value) is not str or value not in CHOICES[name]:
            which = "None or in" if name in _MAY_BE_NONE else "in"
            raise ValueError(f"new enum value must be {which} {list(CHOICES[name])}, got {value} of type "
                             f"{type(value)}.")
        return
    if type(value) is not _TYPES[name]:
        raise TypeError(f"config option {name} must be a {_TYPES[name].__name__}, got {value!r} of type {type(value)}.")


def _check_settled(name: str, value: Any) -> None:
    _, accepted, reason = SETTLED[name]
    if accepted is not None and value not in accepted:
        raise NotImplementedError(f"jax_{name} cannot be {value!r} in tinytrace: {reason}. It may be "
                                  f"{' or '.join(map(repr, accepted))}.")


def _switch(name: str, doc: str) -> Callable[[bool], AbstractContextManager[None]]:
    """The context manager of one boolean setting; called without an argument it turns the setting on."""

    def switch(new_val: bool = True) -> AbstractContextManager[None]:
        return override(name, bool(new_val))

    switch.__doc__ = doc
    switch.__name__ = switch.__qualname__ = name
    return switch


enable_x64 = _switch("enable_x64", "64-bit types exist within this context.")
debug_nans = _switch("debug_nans", "Operations within this context raise FloatingPointError when they give NaN.")
debug_infs = _switch("debug_infs", "Operations within this context raise FloatingPointError when they give infinity.")
enable_checks = _switch("enable_checks", "Programs that are traced within this context are checked.")
no_tracing = _switch("no_tracing", "Within this context it is an error to trace a function that has not been traced.")
enable_custom_prng = _switch("enable_custom_prng", "Within this context `PRNGKey` makes typed keys.")
check_tracer_leaks = _switch("check_tracer_leaks", "A tracer that outlives its trace raises within this context.")
checking_leaks = check_tracer_leaks
explain_cache_misses = _switch("explain_cache_misses", "Within this context it is logged why functions are traced.")
log_compiles = _switch("log_compiles", "Within this context it is logged what is traced and compiled.")
exact = _switch("exact", "Programs compiled within this context use no fused multiply-add.")
debug_key_reuse = _switch("debug_key_reuse", "Within this context it is an error to use a typed key twice.")
threefry_partitionable = _switch("threefry_partitionable", "Threefry hashes each position by itself here.")


def default_prng_impl(new_val: str) -> AbstractContextManager[None]:
    """Keys made within this context, and raw words used there, are of the generator `new_val` unless they name one."""
    return override("default_prng_impl", new_val)


def disable_jit(disable: bool = True) -> AbstractContextManager[None]:
    """Jitted functions called within this context run op by op in Python."""
    return override("disable_jit", bool(disable))


def disable_x64() -> AbstractContextManager[None]:
    """64-bit types are truncated to 32 bits within this context."""
    return override("enable_x64", False)


def numpy_rank_promotion(new_val: str) -> AbstractContextManager[None]:
    """Leading dimensions that NumPy's functions add are allowed, warned of ("warn") or refused ("raise") here."""
    return override("numpy_rank_promotion", new_val)


def default_matmul_precision(new_val: str | None) -> AbstractContextManager[None]:
    """Products that name no precision have this one within this context: "high", "float32" and so on, or None."""
    return override("default_matmul_precision", new_val)


def _choice(name: str, doc: str) -> Callable[[Any], AbstractContextManager[None]]:
    """The context manager of one setting that is one of a few words."""

    def choose(new_val: Any) -> AbstractContextManager[None]:
        return override(name, new_val)

    choose.__doc__ = doc
    choose.__name__ = choose.__qualname__ = name
    return choose


legacy_prng_key = _choice("legacy_prng_key", "Raw keys are allowed, warned of ('warn') or refused ('error') here.")
softmax_custom_jvp = _switch("softmax_custom_jvp", "Within this context `nn.softmax` has its own derivative rule.")
jax2tf_associative_scan_reductions = _switch("jax2tf_associative_scan_reductions", "Without effect: no jax2tf here.")
numpy_dtype_promotion = _choice("numpy_dtype_promotion", "Dtypes promote as is 'standard', or not ('strict'), here.")
spmd_mode = _choice("spmd_mode", "Without effect: there is one process.")
transfer_guard_host_to_device = _choice("transfer_guard_host_to_device", "Without effect: there is one memory.")
transfer_guard_device_to_device = _choice("transfer_guard_device_to_device", "Without effect: there is one device.")
transfer_guard_device_to_host = _choice("transfer_guard_device_to_host", "Without effect: there is one memory.")
@contextmanager
def transfer_guard(new_val: str | None) -> Iterator[None]:
    """Set the three guards of transfers: without effect, for the device's memory is the host's."""
    with ExitStack() as stack:
        for name in _GUARDS:
            stack.enter_context(override(name, new_val))
        yield


def enable_custom_vjp_by_custom_transpose(new_val: bool = True) -> AbstractContextManager[None]:
    """Refused, if it is to be on, with NotImplementedError: a `custom_vjp` function has one form."""
    _check_settled("enable_custom_vjp_by_custom_transpose", bool(new_val))
    return nullcontext()
