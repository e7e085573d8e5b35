"""The lines of the table, one file per family; importing this fills `harness.LINES`."""
from lines import calls, contractions, elementwise, indexing, linear_algebra, loops, processes, reductions, unjitted

__all__ = ["calls", "contractions", "elementwise", "indexing", "linear_algebra", "loops", "processes", "reductions",
           "unjitted"]
