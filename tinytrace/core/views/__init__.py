"""Jaxprs looked at as data: what differs between two, as a graph, as a Python file. Imported when first asked for."""
from tinytrace.util import lazy_submodules

__getattr__ = lazy_submodules(__name__, "jaxpr_diff", "graph", "python_text")
