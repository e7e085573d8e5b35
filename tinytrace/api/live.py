"""`jax.live_arrays`: which arrays there are."""
from __future__ import annotations

import gc

from tinytrace.api.devices import devices
from tinytrace.core.array import Array


def live_arrays(platform: str | None = None) -> list[Array]:
    """Return the Arrays of this process that are not deleted, those that tinytrace itself keeps too.

    Python's collector knows them; it does not tell those that `gc.freeze` has put aside.

    Raises: RuntimeError for a platform other than cpu.
    See https://docs.jax.dev/en/latest/_autosummary/jax.live_arrays.html.

    >>> import tinytrace.numpy as jnp
    >>> x = jnp.arange(5)
    >>> any(y is x for y in live_arrays())
    True
    """
    devices(platform)
    return [x for x in gc.get_objects() if type(x) is Array and not x.is_deleted()]
