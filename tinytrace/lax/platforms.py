"""platform_dependent: code for each platform, of which this one has the CPU's."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinytrace.core.avals import ShapedArray
from tinytrace.core.jaxpr import ClosedJaxpr, Jaxpr, Literal
from tinytrace.core.kinds import Call, Kind
from tinytrace.core.primitive import Primitive, refuse
from tinytrace.core.trace import Tracer
from tinytrace.lax.branching import switch


def platform_dependent(*args: Any, default: Callable[..., Any] | None = None,
                       **per_platform: Callable[..., Any]) -> Any:
    """Return what the function for this platform, `cpu`, or else `default`, makes of `args`.

    Raises: NotImplementedError when there is neither.
    See https://jax.readthedocs.io/en/latest/_autosummary/jax.lax.platform_dependent.html.

    >>> lax.platform_dependent(1.0, cpu=lambda x: x + 1, default=lambda x: x)
    2.0
    """
    if "gpu" in per_platform:
        raise ValueError("Use 'cuda' or 'rocm' for lax.platform_dependent.")
    branches = list(dict.fromkeys(per_platform.values()))
    platforms = tuple(tuple(name for name, branch in per_platform.items() if branch == b) for b in branches)
    index = platform_index_p.bind(platforms=platforms, has_default=default is not None)
    if default is not None:
        branches.append(default)
    return switch(index, branches, *args) if isinstance(index, Tracer) else branches[int(index)](*args)


class PlatformIndex(Primitive):
    """`platform_index[has_default=True platforms=(('cpu',),)]` is i32[]: which group of platforms holds the CPU."""

    name = "platform_index"
    composite = True

    def abstract_eval(self, **params: Any) -> ShapedArray:
        return ShapedArray((), np.dtype(np.int32))

    def impl(self, *, platforms: tuple[tuple[str, ...], ...], has_default: bool) -> Any:
        for k, names in enumerate(platforms):
            if "cpu" in names:
                return np.asarray(k, np.int32)
        if not has_default:
            raise NotImplementedError(f"lax.platform_dependent has no code for 'cpu', only for {platforms}, and "
                                      "no default")
        return np.asarray(len(platforms), np.int32)

    jvp = refuse("it has no operands")
    transpose = refuse("it has no operands")
    batch = refuse("it has no operands")

    def lower(self, in_avals: Any, out_avals: Any, **params: Any) -> Kind:
        return Call(ClosedJaxpr(Jaxpr([], [], [Literal(self.impl(**params), out_avals[0])], []), []))


platform_index_p = PlatformIndex()
