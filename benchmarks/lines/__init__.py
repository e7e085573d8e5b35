"""The lines of the table, one file per family; importing this fills `harness.LINES`."""
from lines import (
    calls,
    contractions,
    convolutions,
    elementwise,
    indexing,
    layout,
    linear_algebra,
    loops,
    narrow_types,
    processes,
    reductions,
    sorting,
    unjitted,
)

__all__ = ["calls", "contractions", "convolutions", "elementwise", "indexing", "layout", "linear_algebra", "loops",
           "narrow_types", "processes", "reductions", "sorting", "unjitted"]
