"""`jax.debug`'s looks at shardings: where the parts of a value lie, also of one inside of a compiled function.

There is one device, so that what is shown is one box, and what a compiled function tells of any value in it is that
the whole of it lies there. Source: `jax.debug` of JAX 0.4.35.
"""
from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from tinytrace.control_flow.effects import debug_effect
from tinytrace.core.array import CPU
from tinytrace.core.avals import ShapedArray
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.own_primitive import OwnPrimitive
from tinytrace.core.trees import tree_map
from tinytrace.interpreters import ad, batching
from tinytrace.sharding import PositionalSharding, SingleDeviceSharding
from tinytrace.transforms.staging import trace_to_closed_jaxpr

SeesSharding = Callable[[Any], Any]


class _InspectSharding(OwnPrimitive):
    """`inspect_sharding[callback] x`: calls `callback(sharding)`, when it runs un-jitted, or when it is compiled."""

    multiple_results = composite = True

    def lower(self, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *,
              callback: SeesSharding) -> Kind:
        callback(PositionalSharding([CPU]))
        return Call(trace_to_closed_jaxpr(lambda x: [], in_avals))


inspect_sharding_p = _InspectSharding("inspect_sharding")


def _inspect(x: Any, *, callback: SeesSharding) -> list[Any]:
    callback(getattr(x, "sharding", None) or SingleDeviceSharding(CPU))
    return []


def _batch(args: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    inspect_sharding_p.bind(*args, **params)
    return [], []


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    return inspect_sharding_p.bind(*primals, **params), []


inspect_sharding_p.def_impl(_inspect)
inspect_sharding_p.def_effectful_abstract_eval(lambda aval, **params: ([], {debug_effect}))
batching.primitive_batchers[inspect_sharding_p] = _batch
ad.primitive_jvps[inspect_sharding_p] = _jvp


def inspect_array_sharding(value: Any, *, callback: SeesSharding) -> None:
    """Call `callback(sharding)` for each leaf of `value`: at once, or inside of `jit` when it is compiled.

    See https://docs.jax.dev/en/latest/_autosummary/jax.debug.inspect_array_sharding.html.

    >>> import tinytrace.numpy as jnp
    >>> inspect_array_sharding(jnp.ones(3), callback=print)
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=unpinned_host)
    """
    tree_map(lambda x: inspect_sharding_p.bind(x, callback=callback), value)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Show where the parts of an array lie; see `visualize_sharding`, which takes `kwargs`."""
    inspect_array_sharding(arr, callback=lambda sharding: visualize_sharding(arr.shape, sharding, **kwargs))


def visualize_sharding(shape: Sequence[int], sharding: Any, *, use_color: bool = True, scale: float = 1.0,
                       min_width: int = 9, max_width: int = 80, color_map: Any = None) -> None:
    """Show where the parts of an array of one or two axes lie: a box with the number of the one device.

    Raises: ValueError without the package `rich`, which draws it, and for more axes.
    See https://docs.jax.dev/en/latest/_autosummary/jax.debug.visualize_sharding.html.
    """
    if not importlib.util.find_spec("rich"):
        raise ValueError("`visualize_sharding` requires `rich` to be installed.")
    if not 1 <= len(shape) <= 2:
        raise ValueError("`visualize_sharding` only works for shapes with 1 and 2 dimensions.")
    console = importlib.import_module("rich.console").Console(width=max_width)
    color = _color(color_map) if use_color and console.color_system is not None else None
    rows = int(10 * scale)
    width = int(int(rows * (shape[1] if len(shape) == 2 else 1) / shape[0]) * 2.5)
    text = "CPU 0"
    sides = min(max(width, min_width), max_width) - len(text) - 2
    ends = (rows if len(shape) == 2 else 1) - 2
    margin = 0 if color is None else 1
    padding = [ends // 2, sides // 2 + sides % 2, ends // 2 + ends % 2, sides // 2]
    box = importlib.import_module("rich.box").SQUARE if color is None else None
    table = importlib.import_module("rich.table").Table(show_header=False, show_lines=color is None, padding=0,
                                                        highlight=color is None, pad_edge=False, box=box)
    style = importlib.import_module("rich.style").Style(
        bgcolor=color and "#{:02x}{:02x}{:02x}".format(*color), color=color and _readable_on(color))
    centred = importlib.import_module("rich.align").Align(text, "center", vertical="middle")
    table.add_row(importlib.import_module("rich.padding").Padding(
        centred, tuple(max(side + margin, 0) for side in padding), style=style))
    console.print(table, end="\n\n")


def _color(color_map: Any) -> tuple[int, ...] | None:
    """Return the first color of a map, of matplotlib's "tab20b" by default; None without matplotlib."""
    if color_map is None:
        if not importlib.util.find_spec("matplotlib"):
            return None
        color_map = importlib.import_module("matplotlib").colormaps["tab20b"]
    return tuple(int(255 * part) for part in color_map(0.0)[:3])


def _readable_on(color: Sequence[int]) -> str:
    """Return the color of a text: black on what is light."""
    red, green, blue = color
    return "#000000" if red * 0.299 + green * 0.587 + blue * 0.114 > 186 else "#ffffff"
