"""`jax.live_arrays`: which arrays there are."""
from __future__ import annotations

from tinytrace import _dispatch
from tinytrace.api.devices import devices
from tinytrace.core.array import Array


def live_arrays(platform: str | None = None) -> list[Array]:
    """Return the Arrays of this process that are not deleted, newest first, those that tinytrace itself keeps too.

    Raises: RuntimeError for a platform other than cpu.
    See https://docs.jax.dev/en/latest/_autosummary/jax.live_arrays.html.

    >>> import tinytrace.numpy as jnp
    >>> x = jnp.arange(5)
    >>> any(y is x for y in live_arrays())
    True
    """
    devices(platform)
    return _dispatch.live_arrays()
