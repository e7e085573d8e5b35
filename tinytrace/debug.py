"""`jax.debug`: look into a running program. `print` and `callback` work under every transformation and in loops."""
from __future__ import annotations

import functools
import importlib
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from tinytrace.control_flow.callbacks import CallOnLeaves, debug_callback_p
from tinytrace.control_flow.effects import debug_effect, ordered_debug_effect
from tinytrace.core.avals import aval_of
from tinytrace.core.trees import tree_flatten
from tinytrace.util import lazy_names


def callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Call `callback(*args, **kwargs)`, on arrays, whenever the program comes to this place.

    Transformations leave the call where it is: it sees primal values, under `vmap` one element at a time. `ordered`
    asks for the order of the program among such calls; here every program runs in its order anyway.
    Raises TypeError when `callback` is not callable. Source: `jax.debug.callback`.

    >>> callback(lambda x: sys.stdout.write(f"{x}\\n"), 3)
    3
    """
    if not callable(callback):
        raise TypeError("first argument to jax.debug.callback must be callable, "
                        f"but got an object of type {type(callback)}")
    leaves, in_tree = tree_flatten((args, kwargs))
    statics, arrays, dtypes = {}, [], []
    for i, leaf in enumerate(leaves):
        try:
            dtypes.append(aval_of(leaf).dtype)
        except TypeError:
            statics[i] = leaf
        else:
            arrays.append(leaf)
    debug_callback_p.bind(*arrays, callback=CallOnLeaves(callback, in_tree, dtypes, statics),
                          effect=ordered_debug_effect if ordered else debug_effect)


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Print `fmt.format(*args, **kwargs)` when the program comes to this place.

    An f-string would be formatted while tracing: write `debug.print("x = {x}", x=x)`.
    Raises ValueError for arguments that the format does not use. Source: `jax.debug.print`.

    >>> print("x = {x}", x=3)
    x = 3
    """
    _FormatChecker().format(fmt, *args, **kwargs)
    callback(functools.partial(_print, fmt), *args, **kwargs, ordered=ordered)


def _print(fmt: str, *args: Any, **kwargs: Any) -> None:
    sys.stdout.write(fmt.format(*args, **kwargs) + "\n")


class _FormatChecker(string.Formatter):
    """Goes through a format without formatting, and complains of arguments that are not in it."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def check_unused_args(self, used_args: set[int | str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        unused = [arg for i, arg in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {unused}")
        unused_names = [name for name in kwargs if name not in used_args]
        if unused_names:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {unused_names}. You may be passing an f-string (i.e, "
                "`f\"{x}\"`) into `jax.debug.print` and instead should pass in a regular string.")


_HOMES = {"DebugEffect": "control_flow.effects", "breakpoint": "breakpoints",
          "inspect_array_sharding": "shown_shardings", "visualize_array_sharding": "shown_shardings",
          "visualize_sharding": "shown_shardings"}
__getattr__ = lazy_names("tinytrace", _HOMES, __name__)
__all__ = ["callback", "print", *_HOMES]


class _CallableModule(ModuleType):
    """`tinytrace.debug(f)(x)` runs `f` in the debugger: see `tinytrace.inspection.debugger.terminal`."""

    def __call__(self, fun: Callable[..., Any], limit: int = 100_000) -> Callable[..., Any]:
        run: Callable[..., Any] = importlib.import_module("tinytrace.inspection.debugger.terminal").debug(fun, limit)
        return run


sys.modules[__name__].__class__ = _CallableModule
