"""Settings as flags of absl, which a program reads from its command line: `--jax_enable_x64`, `--tinytrace_exact`.

    from absl import app                                    python program.py --jax_debug_nans
    jax.config.config_with_absl()
    app.run(main)

Source: `jax.config` of JAX 0.4.35, and https://abseil.io/docs/python/guides/flags.
"""
from __future__ import annotations

import itertools
import sys
from typing import Any

from absl import app, flags

from tinytrace.config import CHOICES, SETTLED, config


def config_with_absl() -> None:
    """Define a flag for each setting; those that are given on the command line are set when `app.run` has read them."""
    _define(flags.FLAGS)
    app.call_after_init(lambda: _take_over(flags.FLAGS))


def parse_flags_with_absl() -> None:
    """Set the settings whose flags are on the command line now, up to `--`; all other words of it are left alone."""
    words = itertools.takewhile(lambda word: word != "--", sys.argv[1:])
    given = _FLAG_VALUES()
    _define(given)
    given([sys.argv[0], *(word for word in words if word.startswith(("--jax", "--tinytrace")))], known_only=True)
    _take_over(given)


def _define(values: flags.FlagValues) -> None:
    for name, value in config.values.items():
        flag, text = _flag(name), f"the setting {name}"
        if flag in values:
            continue
        if name in CHOICES:
            flags.DEFINE_enum(flag, value, CHOICES[name], text, flag_values=values)
        else:
            _DEFINE[type(value)](flag, value, text, flag_values=values)
    for name in SETTLED:
        if f"jax_{name}" not in values:
            flags.DEFINE_string(f"jax_{name}", None, f"the setting {name}, which has one value", flag_values=values)


_DEFINE: dict[type, Any] = {bool: flags.DEFINE_bool, int: flags.DEFINE_integer, str: flags.DEFINE_string}
_FLAG_VALUES: Any = flags.FlagValues
_OURS = ("exact", "strict", "verify", "cache_dir", "shared_cache", "cache_mib", "memory_mib", "compiler",
         "compile_timeout", "log")


def _flag(name: str) -> str:
    return f"tinytrace_{name}" if name in _OURS else name if name.startswith("jax2tf") else f"jax_{name}"


def _take_over(values: flags.FlagValues) -> None:
    for name in (*map(_flag, config.values), *(f"jax_{name}" for name in SETTLED)):
        if values[name].present:
            config.update(name, values[name].value)
