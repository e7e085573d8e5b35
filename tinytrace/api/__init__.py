"""From a call to the pipeline and back: jit, its tables and stages, and the transformations.

What is asked of the tables is imported when somebody asks.
"""
from typing import TYPE_CHECKING

from tinytrace.util import lazy_submodules

if TYPE_CHECKING:
    from tinytrace.api import cache_view as cache_view
    from tinytrace.api import logs as logs
    from tinytrace.api import why as why

__getattr__ = lazy_submodules(__name__, "cache_view", "logs", "why")
