"""`jax.monitoring`: events that libraries report, and who listens. tinytrace's own are in `tinytrace.events`.

>>> heard = []
>>> register_event_listener(lambda event, **details: heard.append(event))
>>> record_event("/library/begins")
>>> heard
['/library/begins']
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)

Listener = Callable[..., None]
_event_listeners: list[Listener] = []
_duration_listeners: list[Listener] = []


def register_event_listener(callback: Listener) -> None:
    """Call `callback(event, **details)` for every event."""
    _event_listeners.append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Call `callback(event, seconds, **details)` for every duration."""
    _duration_listeners.append(callback)


def record_event(event: str, **details: Any) -> None:
    """Tell the listeners of an event."""
    for callback in _event_listeners:
        callback(event, **details)


def record_event_duration_secs(event: str, duration: float, **details: Any) -> None:
    """Tell the listeners how long something took, in seconds."""
    for callback in _duration_listeners:
        callback(event, duration, **details)


def clear_event_listeners() -> None:
    """Forget all listeners."""
    _event_listeners.clear()
    _duration_listeners.clear()
