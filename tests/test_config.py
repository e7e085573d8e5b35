"""The settings: attributes, JAX's names, process-wide updates, overrides of one thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

import tinytrace.numpy as jnp
from tinytrace import config as config_in_package
from tinytrace import experimental
from tinytrace.config import (
    TRACE_FIELDS,
    Config,
    check_tracer_leaks,
    config,
    debug_nans,
    disable_jit,
    disable_x64,
    enable_x64,
    exact,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    trace_context,
    x64_enabled,
)


@pytest.fixture(autouse=True)
def put_back():
    before = config.values
    yield
    for name, value in before.items():
        config.update(name, value)


def test_names_with_and_without_prefix():
    config.update("jax_enable_x64", True)
    config.update("tinytrace_strict", True)
    assert config.enable_x64 is config.jax_enable_x64 is config.read("jax_enable_x64") is True
    assert config.strict is config.values["strict"] is True
    assert config_in_package is config or config_in_package.config is config


def test_unknown_names():
    for use in (lambda: config.update("foo", 1), lambda: config.read("jax_foo")):
        with pytest.raises(AttributeError, match=r"^Unrecognized config option: (jax_)?foo$"):
            use()
    with pytest.raises(AttributeError, match=r"^'Config' object has no attribute 'jax_foo'$"):
        _ = config.jax_foo


def test_assignment_is_refused():
    with pytest.raises(AttributeError, match=r"changed by config.update\('enable_x64', True\)"):
        config.enable_x64 = True


def test_values_that_do_not_fit():
    with pytest.raises(TypeError, match="enable_x64 must be a bool, got 'yes'"):
        config.update("jax_enable_x64", "yes")
    # JAX's text
    with pytest.raises(ValueError, match=r"^new enum value must be in \['standard', 'strict'\], got loose of type"):
        config.update("jax_numpy_dtype_promotion", "loose")
    with pytest.raises(ValueError, match="new enum value"), numpy_dtype_promotion("loose"):
        pass


@pytest.mark.parametrize(
    ("manager", "name", "value"),
    [
        (enable_x64, "enable_x64", True), (lambda: enable_x64(False), "enable_x64", False),
        (disable_x64, "enable_x64", False), (debug_nans, "debug_nans", True), (disable_jit, "disable_jit", True),
        (check_tracer_leaks, "check_tracer_leaks", True), (exact, "exact", True),
        (lambda: numpy_dtype_promotion("strict"), "numpy_dtype_promotion", "strict"),
    ],
)  # fmt: skip
def test_context_managers(manager, name, value):
    config.update("enable_x64", value is False)
    before = getattr(config, name)
    with manager():
        assert getattr(config, name) == value
    assert getattr(config, name) == before


def test_overrides_nest():
    with enable_x64():
        with enable_x64(False):
            assert not config.enable_x64
        assert config.enable_x64
    assert not config.enable_x64


def test_an_override_ends_with_an_exception():
    def fail_inside():
        with enable_x64():
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    assert not config.enable_x64


def test_a_manager_is_a_decorator_too():
    @enable_x64()
    def f():
        return config.enable_x64

    assert (f(), f(), config.enable_x64) == (True, True, False)


def in_thread(action):
    result = []
    thread = threading.Thread(target=lambda: result.append(action()))
    thread.start()
    thread.join()
    return result[0]


def test_an_override_is_for_one_thread_and_an_update_for_all():
    with enable_x64():
        assert in_thread(lambda: config.enable_x64) is False
        config.update("enable_x64", False)
        assert config.enable_x64 is True
        config.update("debug_nans", True)
        assert config.debug_nans is in_thread(lambda: config.debug_nans) is True
    assert config.enable_x64 is False


def test_trace_context_follows_every_change_at_once():
    """In every thread: an update elsewhere, an override here, both together."""
    seen = [trace_context()]
    config.update("debug_nans", True)
    seen.append(trace_context())
    with enable_x64():
        seen.append(trace_context())
        assert in_thread(trace_context) == seen[1]
        in_thread(lambda: config.update("exact", True))
        seen.append(trace_context())
    seen.append(trace_context())
    assert len(set(seen)) == len(seen) == 5
    assert seen[3] == tuple(True if name == "enable_x64" else getattr(config, name) for name in TRACE_FIELDS)


def test_settings_that_do_not_shape_a_trace_stay_out_of_it():
    before = trace_context()
    config.update("strict", True)
    config.update("cache_mib", 7)
    assert trace_context() == before
    assert set(TRACE_FIELDS) < set(Config.__annotations__)


def ask(variable, value, expression):
    code = f"from tinytrace.config import config; print({expression})"
    environment = {**os.environ, variable: value}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)


@pytest.mark.not_quick
def test_environment():
    assert ask("JAX_ENABLE_X64", "yes", "config.enable_x64").stdout == "True\n"
    assert ask("TINYTRACE_CACHE_MIB", "7", "config.cache_mib").stdout == "7\n"
    assert ask("CC", "clang", "config.compiler").stdout == "clang\n"
    refused = [("JAX_ENABLE_X64", "perhaps"), ("TINYTRACE_CACHE_MIB", "x"), ("JAX_NUMPY_DTYPE_PROMOTION", "x")]
    for variable, value in refused:
        assert f"{value!r} for environment '{variable}'" in ask(variable, value, "1").stderr


def test_experimental_has_the_switches_of_64_bit_numbers():
    with experimental.enable_x64():
        assert config.enable_x64
        with experimental.disable_x64():
            assert not config.enable_x64
    assert not config.enable_x64


def test_an_older_name():
    with experimental.enable_x64():
        assert config.x64_enabled
    assert not config.x64_enabled


def test_settings_of_one_value():
    config.update("jax_platform_name", "cpu")
    assert config.jax_platforms == config.read("jax_platforms") == "cpu"
    with pytest.raises(NotImplementedError, match=r"jax_platforms cannot be 'gpu' in tinytrace: there is one platform"):
        config.update("jax_platforms", "gpu")
    with pytest.raises(NotImplementedError, match=r"a custom_vjp function has one form\. It may be False"):
        config.update("jax_enable_custom_vjp_by_custom_transpose", True)
    config.update("jax_dynamic_shapes", True)  # programs with ragged arrays say so
    config.update("jax_compilation_cache_dir", "/somewhere")


def test_disable_jit_takes_its_argument_by_name():
    with disable_jit(disable=True), disable_jit(disable=False):
        assert not config.disable_jit


def test_rank_promotion_is_warned_of():
    with numpy_rank_promotion("warn"), pytest.warns(UserWarning, match=r"rank promotion for add on shapes \(2, 3\) "):
        jnp.zeros((2, 3)) + jnp.zeros(3)


def test_what_is_read_in_less_time_is_the_same():
    """While nobody overrides, the process's values are read; a thread's own ones count where they are."""
    def seen():
        return x64_enabled(), config.checks_results

    assert seen() == (config.enable_x64, False)
    with enable_x64(not config.enable_x64):
        assert seen() == (config.enable_x64, False)
        with debug_nans(True):
            assert seen() == (config.enable_x64, True)
    config.update("jax_debug_infs", True)
    try:
        assert seen() == (config.enable_x64, True)
    finally:
        config.update("jax_debug_infs", False)
    assert seen() == (config.enable_x64, False)
