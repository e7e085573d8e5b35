"""`jax.extend.source_info_util`: which of the user's lines an equation is from."""
from __future__ import annotations

from tinytrace._src.traceback_util import register_exclusion as register_exclusion
from tinytrace.core.source_info import SourceInfo as SourceInfo
from tinytrace.transforms.staging import user_source as current
from tinytrace.util import absent_names

__getattr__ = absent_names(__name__)


def summarize(source_info: SourceInfo | None) -> str:
    """Return a line as `file:line (function)`."""
    return str(source_info or "<unknown>")


__all__ = ["SourceInfo", "current", "register_exclusion", "summarize"]
