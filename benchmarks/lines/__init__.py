"""The lines of the table, one file per family; importing this fills `harness.LINES`."""
from lines import (
    calls,
    contractions,
    convolutions,
    elementwise,
    indexing,
    linear_algebra,
    loops,
    narrow_types,
    processes,
    reductions,
    unjitted,
)

__all__ = ["calls", "contractions", "convolutions", "elementwise", "indexing", "linear_algebra", "loops",
           "narrow_types", "processes", "reductions", "unjitted"]
