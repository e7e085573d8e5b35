"""`jax.lib.xla_bridge`: which backend computes."""
from __future__ import annotations

from typing import Any

from tinytrace.api.devices import default_backend, devices

_backends: dict[str, Any] = {}


class Backend:
    """What compiles programs for the CPU and runs them."""

    platform = "cpu"

    def devices(self) -> Any:
        """The devices."""
        return devices()


def get_backend(platform: str | None = None) -> Any:
    """Return the backend: that of the CPU."""
    devices(platform)
    return Backend()


def default_platform() -> str:
    """Return the name of the backend."""
    return default_backend()
