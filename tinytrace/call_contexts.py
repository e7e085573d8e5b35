"""What a thread overrides, for calls that are answered without Python: an object stands for it in their keys."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinytrace._dispatch import set_context

PAUSING = ("disable_jit", "debug_nans", "debug_infs", "debug_key_reuse")
"""Settings that make each call a special case, which is Python's."""
_contexts: dict[tuple[tuple[str, Any], ...], object] = {}


def leave_context() -> None:
    """Leave all calls of this thread to Python, until `enter_context`: its overrides are about to change."""
    set_context(False)


def enter_context(overrides: Mapping[str, Any]) -> None:
    """Let calls of this thread be answered by what was learnt under these overrides; none: by what threads share."""
    if any(overrides.get(name) for name in PAUSING):
        set_context(False)
    elif overrides:
        set_context(_contexts.setdefault(tuple(sorted(overrides.items())), object()))
    else:
        set_context(None)
