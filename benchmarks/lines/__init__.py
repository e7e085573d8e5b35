"""The lines of the table, one file per family; importing this fills `harness.LINES`."""
from lines import calls, contractions, elementwise, indexing, loops, processes, reductions, unjitted

__all__ = ["calls", "contractions", "elementwise", "indexing", "loops", "processes", "reductions", "unjitted"]
