"""`jax._src.traceback_util`: whose frames are not shown when an error leaves a library."""
from __future__ import annotations

from tinytrace.tracebacks import api_boundary as api_boundary
from tinytrace.tracebacks import hidden_files
from tinytrace.tracebacks import is_users as include_frame  # noqa: F401


def register_exclusion(path: str) -> None:
    """Leave the frames of a file out of tracebacks, as those of this package are left out."""
    hidden_files.add(path)
