"""`jax.extend.backend`: which backend computes."""
from __future__ import annotations

from typing import Any

from tinytrace.api.jit_cache import clear_caches as clear_backends
from tinytrace.lib.xla_bridge import get_backend
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)


def backends() -> dict[str, Any]:
    """Return the backends by platform: there is one, the CPU.

    >>> list(backends())
    ['cpu']
    """
    return {"cpu": get_backend()}


def backend_xla_version(platform: str | None = None) -> int | None:
    """Return the version of XLA of a backend: None, as for JAX's CPU. Raises RuntimeError for another platform."""
    get_backend(platform)
    return None


__all__ = ["backend_xla_version", "backends", "clear_backends", "get_backend"]
